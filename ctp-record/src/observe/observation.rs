//! What one look finds of some waits: what their descriptors are, what there is to read, who watches.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ctp_trace::record::{Nanos, Seen};

use crate::harvest::DescriptorWait;
use crate::memory::memory_set::StationPlace;
use crate::proc::descriptor::{self, Descriptor, Held};
use crate::proc::epoll::Watched;
use crate::proc::sockets::Sockets;

/// What watches a descriptor is asked after so long: that takes a lock of the program's.
const LONGER: Duration = Duration::from_secs(2);
/// Processes of which the sockets, or the descriptors, are listed in one go.
pub(super) const MOST_LISTS: usize = 4;

/// One wait, with what its descriptor is now.
pub(super) struct Observation {
    pub place: StationPlace,
    pub wait: DescriptorWait,
    pub pid: u32,
    pub held: Held,
}

/// Their processes that have ended by now, as one number of each tells. It is asked when all else was
/// read: while a process ends, its sockets leave the kernel's tables and what it has is closed, which
/// says nothing of any wait.
pub(super) fn ended_of(observations: &[(Observation, Option<Seen>)]) -> HashSet<u32> {
    let numbers = observations
        .iter()
        .map(|(observation, _)| (observation.pid, observation.wait.fd));
    let one_per_process: HashMap<u32, u64> = numbers.collect();
    let has_ended = |(pid, fd)| (descriptor::look(pid, fd) == Held::Unknown).then_some(pid);
    one_per_process.into_iter().filter_map(has_ended).collect()
}

/// What there is to read, if it waits for that; whether it is the same thing as before is not known
/// here. Nothing of a socket whose process was left out this time.
pub(super) fn seen_of(observation: &Observation, sockets: Option<&Sockets>) -> Option<Seen> {
    let seen = match observation.held {
        Held::Open(descriptor) if observation.wait.reads => match descriptor {
            Descriptor::Socket(inode) => sockets?.seen(inode)?,
            Descriptor::Event => descriptor::seen_of_event(observation.pid, observation.wait.fd),
            _ => Seen::Open,
        },
        Held::Closed => Seen::Closed,
        Held::NumberClosed => Seen::NumberClosed,
        _ => Seen::Open,
    };
    Some(seen)
}

/// What the epolls of some processes watch; nothing where that cannot be told.
pub(super) type Lists = HashMap<u32, Option<Watched>>;

/// What the epolls watch of those processes in which somebody waits for longer.
pub(super) fn watched_for(observations: &[Observation], now: Nanos) -> Lists {
    let is_longer = |observation: &&Observation| {
        let is_open = matches!(observation.held, Held::Open(_));
        is_open && LONGER.as_nanos() <= observation.wait.since.until(now).0.into()
    };
    let of_those: HashSet<u32> = observations
        .iter()
        .filter(is_longer)
        .map(|observation| observation.pid)
        .collect();
    let some = of_those.into_iter().take(MOST_LISTS);
    some.map(|pid| (pid, Watched::in_process(pid))).collect()
}

/// Is the descriptor of this sight among those that somebody watches? Nothing if that is not known.
pub(super) fn is_watched(observation: &Observation, watched: &Lists) -> Option<bool> {
    let Held::Open(descriptor) = observation.held else {
        return None;
    };
    let watched = watched.get(&observation.pid)?.as_ref()?;
    Some(watched.has(observation.wait.fd, descriptor, observation.wait.reads))
}

/// What is to be said of this where nobody watches the descriptor.
pub(super) fn unwatched(seen: Seen) -> Seen {
    match seen {
        Seen::Readable(amount) => Seen::Unwatched(amount),
        _ => Seen::Unwatched(0),
    }
}

/// The sockets of those processes in which somebody waits to read from one.
pub(super) fn tables_for(observations: &[Observation]) -> HashMap<u32, Sockets> {
    let mut requested: HashMap<u32, HashSet<u64>> = HashMap::new();
    for observation in observations
        .iter()
        .filter(|observation| observation.wait.reads)
    {
        if let Held::Open(Descriptor::Socket(inode)) = observation.held {
            requested.entry(observation.pid).or_default().insert(inode);
        }
    }
    let some = requested.into_iter().take(MOST_LISTS);
    some.map(|(pid, inodes)| (pid, Sockets::of(pid, &inodes)))
        .collect()
}
