//! The findings of a round: what each descriptor refers to, what there is to read, and which epolls watch.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ctp_trace::record::{Nanos, Seen};

use crate::harvest::DescriptorWait;
use crate::memory::memory_set::StationPlace;
use crate::proc::descriptor::{self, Descriptor, DescriptorState};
use crate::proc::epoll::Watched;
use crate::proc::sockets::RequestedSockets;

/// The epolls are read only after a wait of this length, because the kernel locks them meanwhile, which may delay the
/// program.
const LONGER: Duration = Duration::from_secs(2);
/// Maximum number of processes whose sockets or epolls are listed in a round.
pub(super) const MAX_LISTS: usize = 4;

/// A wait and the present state of its descriptor.
pub(super) struct Observation {
    pub place: StationPlace,
    pub wait: DescriptorWait,
    pub pid: u32,
    pub state: DescriptorState,
}

/// The processes that have ended by now, checked with a single descriptor of each. This is done after everything
/// else was read: while a process ends, its sockets disappear and its descriptors close, which says nothing
/// about any wait.
pub(super) fn ended_of(observations: &[(Observation, Option<Seen>)]) -> HashSet<u32> {
    let numbers = observations
        .iter()
        .map(|(observation, _)| (observation.pid, observation.wait.fd));
    let descriptors: HashMap<u32, u64> = numbers.collect();
    descriptors
        .into_iter()
        .filter_map(|(pid, fd)| {
            (descriptor::state_of(pid, fd) == DescriptorState::Unknown).then_some(pid)
        })
        .collect()
}

/// The finding about a wait, regardless of earlier observations: whether the descriptor is closed, and what there is to
/// read if the coroutine waits to read. `None` for a socket whose process was left out of this round.
pub(super) fn seen_of(
    observation: &Observation,
    sockets: Option<&RequestedSockets>,
) -> Option<Seen> {
    let seen = match observation.state {
        DescriptorState::Open(descriptor) if observation.wait.reads => match descriptor {
            Descriptor::Socket(inode) => sockets?.seen(inode)?,
            Descriptor::Event => descriptor::seen_of_event(observation.pid, observation.wait.fd),
            _ => Seen::Open,
        },
        DescriptorState::Closed => Seen::Closed,
        DescriptorState::NumberClosed => Seen::NumberClosed,
        _ => Seen::Open,
    };
    Some(seen)
}

/// What the epolls of each listed process watch; `None` if unknown.
pub(super) type Lists = HashMap<u32, Option<Watched>>;

/// Lists the epolls of processes with a longer wait.
pub(super) fn watched_for(observations: &[Observation], now: Nanos) -> Lists {
    let pids: HashSet<u32> = observations
        .iter()
        .filter(|observation| {
            let is_open = matches!(observation.state, DescriptorState::Open(_));
            is_open && LONGER.as_nanos() <= observation.wait.since.until(now).0.into()
        })
        .map(|observation| observation.pid)
        .collect();
    let some = pids.into_iter().take(MAX_LISTS);
    some.map(|pid| (pid, Watched::in_process(pid))).collect()
}

/// Whether an epoll watches this descriptor; `None` if unknown.
pub(super) fn is_watched(observation: &Observation, watched: &Lists) -> Option<bool> {
    let DescriptorState::Open(descriptor) = observation.state else {
        return None;
    };
    let watched = watched.get(&observation.pid)?.as_ref()?;
    Some(watched.has(observation.wait.fd, descriptor, observation.wait.reads))
}

/// The finding for a descriptor that no epoll watches.
pub(super) fn unwatched(seen: Seen) -> Seen {
    match seen {
        Seen::Readable(amount) => Seen::Unwatched(amount),
        _ => Seen::Unwatched(0),
    }
}

/// The sockets of processes in which a coroutine waits to read from a socket.
pub(super) fn tables_for(observations: &[Observation]) -> HashMap<u32, RequestedSockets> {
    let mut requested: HashMap<u32, HashSet<u64>> = HashMap::new();
    for observation in observations
        .iter()
        .filter(|observation| observation.wait.reads)
    {
        if let DescriptorState::Open(Descriptor::Socket(inode)) = observation.state {
            requested.entry(observation.pid).or_default().insert(inode);
        }
    }
    let some = requested.into_iter().take(MAX_LISTS);
    some.map(|(pid, inodes)| (pid, RequestedSockets::of(pid, &inodes)))
        .collect()
}
