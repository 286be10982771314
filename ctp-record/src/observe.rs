//! Looks from outside at the descriptors that coroutines wait for: closed, re-used, or readable?
//!
//! Only `/proc` is read, and the kernel asked of local sockets. The program is not stopped, and
//! nothing of it is touched: a duplicate of a descriptor would keep it open. What is not remarkable is
//! not told, but for that there is nothing to read, which is why a wait may be long; and a descriptor
//! is closed or re-used only if an earlier look of the same wait saw it open: its number may be of
//! another sort.
//! Whether an epoll watches them is asked too, which the kernel tells under a lock of that epoll: of
//! small processes only, and of long waits.
//! The work is bounded: some hundred descriptors a second, in turns, and none while nobody waits long.

mod changed;
mod followed;
mod observation;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ctp_trace::record::{CoroutineId, Look, Nanos, ProcessId, Seen};

use crate::harvest::DescriptorWait;
use crate::memory::memory_set::StationPlace;
use crate::proc::descriptor::{self, Held};
use changed::Changed;
use followed::Followed;
use observation::{
    Lists, MOST_LISTS, Observation, ended_of, is_watched, seen_of, tables_for, unwatched,
    watched_for,
};

/// Whoever waits for so long is looked at.
pub const LONG: Duration = Duration::from_millis(500);
/// Waits that are looked at in one go.
pub const MOST_WAITS: usize = 256;
/// Stations that are scanned for them in one go.
pub const MOST_STATIONS: usize = 1 << 14;
/// From one look to the next.
const EVERY: Duration = Duration::from_secs(1);
/// From one look to the next while something is remarkable and was seen but once.
const SOON: Duration = Duration::from_millis(200);
/// Looks take no more than this part of a processor.
const SHARE: u32 = 100;
/// Waits that are remembered; then all are forgotten.
const MOST_FOLLOWED: usize = 1 << 16;

/// What was seen so far, and when the next look is.
#[derive(Debug)]
pub struct Looks {
    next: Instant,
    /// Up to where stations were scanned.
    pub cursor: StationPlace,
    followed: HashMap<CoroutineId, Followed>,
    /// Waits of which something remarkable was told, with their stations.
    suspects: Vec<(StationPlace, CoroutineId)>,
    /// Processes at which the kernel did not let us look.
    hidden: HashSet<ProcessId>,
    /// Processes in which some wait for what an epoll watches, so that the others should, too.
    watching: HashSet<ProcessId>,
    /// What is as it should be is told at the end only.
    saves_room: bool,
}

impl Looks {
    /// None yet. To save room, what is as it should be is told at the end only.
    pub fn new(saves_room: bool) -> Self {
        Looks {
            next: Instant::now(),
            cursor: (0, 0),
            followed: HashMap::new(),
            suspects: Vec::new(),
            hidden: HashSet::new(),
            watching: HashSet::new(),
            saves_room,
        }
    }

    /// Is it time?
    pub fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    /// A look is over that took so long of a processor.
    pub fn rest(&mut self, took: Duration) {
        let pause = match self.suspects.iter().any(|(_, id)| self.is_seen_once(*id)) {
            true => SOON,
            false => EVERY,
        };
        self.next = Instant::now() + pause.max(took * SHARE);
    }

    /// How long the loop may sleep while something is to be seen once more.
    pub fn pause(&self) -> Option<Duration> {
        let is_open = self.suspects.iter().any(|(_, id)| self.is_seen_once(*id));
        is_open.then(|| self.next.saturating_duration_since(Instant::now()))
    }

    /// The stations of those that are to be looked at in any case.
    pub fn suspects(&mut self) -> Vec<StationPlace> {
        let suspects = std::mem::take(&mut self.suspects);
        suspects.into_iter().map(|(place, _)| place).collect()
    }

    /// Looks at what these wait for. `pid_of` tells the kernel's ids of processes, `is_still` whether
    /// a wait goes on, and `now` the time. Gives what is to be told.
    pub fn look(
        &mut self,
        waits: Vec<(StationPlace, DescriptorWait)>,
        pid_of: impl Fn(ProcessId) -> Option<u32>,
        is_still: impl Fn(StationPlace, &DescriptorWait) -> bool,
        now: impl Fn() -> Nanos,
    ) -> Vec<Look> {
        let observation = |(place, wait): (StationPlace, DescriptorWait)| {
            let pid = pid_of(wait.process)?;
            let held = descriptor::look(pid, wait.fd);
            Some(Observation {
                place,
                wait,
                pid,
                held,
            })
        };
        let mut observations: Vec<Observation> =
            waits.into_iter().filter_map(observation).collect();
        self.confirm(&mut observations);
        let tables = tables_for(&observations);
        let watched = watched_for(&observations, now());
        self.note_watchers(&observations, &watched);
        let with_seen = |observation: Observation| {
            let seen = seen_of(&observation, tables.get(&observation.pid));
            let seen = self.with_watchers(&observation, seen, &watched);
            (observation, seen)
        };
        let observations: Vec<_> = observations.into_iter().map(with_seen).collect();
        let at = now();
        let ended = ended_of(&observations);
        let mut looks = Vec::new();
        for (observation, seen) in observations {
            if !ended.contains(&observation.pid) && is_still(observation.place, &observation.wait) {
                self.report(&observation, seen, at, &mut looks);
            }
        }
        looks
    }

    /// What was seen last of waits that are as they should be, to be told at the end.
    pub fn last(&self) -> impl Iterator<Item = Look> {
        self.followed.values().filter_map(Followed::unrecorded)
    }

    fn note_watchers(&mut self, observations: &[Observation], watched: &Lists) {
        let is_watched =
            |observation: &&Observation| is_watched(observation, watched) == Some(true);
        let some = observations.iter().filter(is_watched);
        self.watching
            .extend(some.map(|observation| observation.wait.process));
    }

    /// What is seen, with whether nobody there tells when it is ready, though somebody does of what
    /// others wait for. Of a process that was left out this time, that stays as it was told.
    fn with_watchers(
        &self,
        observation: &Observation,
        seen: Option<Seen>,
        watched: &Lists,
    ) -> Option<Seen> {
        let is_requested = self.watching.contains(&observation.wait.process);
        match is_watched(observation, watched) {
            Some(false) if is_requested => seen.map(unwatched),
            None if !watched.contains_key(&observation.pid) && self.was_unwatched(observation) => {
                None
            }
            _ => seen,
        }
    }

    /// Is it open, and was it told last that nobody watches it?
    fn was_unwatched(&self, observation: &Observation) -> bool {
        let followed = self.followed.get(&observation.wait.coroutine);
        let was = followed.is_some_and(|followed| {
            followed.since == observation.wait.since && followed.was_unwatched()
        });
        was && matches!(observation.held, Held::Open(_))
    }

    /// Looks once more, and closer, at what is not what it was.
    fn confirm(&self, observations: &mut [Observation]) {
        let mut all: HashMap<u32, Vec<Changed>> = HashMap::new();
        for observation in observations {
            let pid = observation.pid;
            if let Some(changed) = self.changed(observation) {
                all.entry(pid).or_default().push(changed);
            }
        }
        for (i, (pid, mut changed)) in all.into_iter().enumerate() {
            match i < MOST_LISTS {
                true => changed::confirm(pid, &mut changed),
                false => changed::detach(&mut changed),
            }
        }
    }

    fn changed<'a>(&self, observation: &'a mut Observation) -> Option<Changed<'a>> {
        let wait = &observation.wait;
        let followed = self.followed.get(&wait.coroutine)?;
        let is_changed = followed.since == wait.since && followed.is_changed(&observation.held);
        is_changed.then_some(Changed {
            fd: wait.fd,
            was: followed.descriptor,
            held: &mut observation.held,
        })
    }

    /// Of what this look could not see, all stays as it was told.
    fn report(
        &mut self,
        observation: &Observation,
        seen: Option<Seen>,
        at: Nanos,
        looks: &mut Vec<Look>,
    ) {
        let Observation { wait, held, .. } = observation;
        let look = |seen| Look {
            coroutine: wait.coroutine,
            since: wait.since,
            at,
            fd: wait.fd,
            seen,
            ..Look::default()
        };
        match held {
            Held::Unknown => return,
            Held::Hidden if self.hidden.insert(wait.process) => looks.push(look(Seen::Hidden)),
            Held::Hidden => return,
            Held::Open(_) | Held::Closed | Held::NumberClosed => {}
        }
        if self.followed.len() == MOST_FOLLOWED {
            self.followed.clear();
        }
        let before = self.followed.remove(&wait.coroutine);
        let followed = before.filter(|before| before.since == wait.since);
        let Some(mut followed) = followed.or_else(|| Followed::of(wait.since, held, at)) else {
            return;
        };
        let is_changed = followed.is_changed(held);
        if let Some(seen) = seen.or(is_changed.then_some(Seen::Open)) {
            looks.extend(followed.see(held, look(seen), self.saves_room));
        }
        if followed.is_suspect() {
            self.suspects.push((observation.place, wait.coroutine));
        }
        self.followed.insert(wait.coroutine, followed);
    }

    fn is_seen_once(&self, id: CoroutineId) -> bool {
        self.followed.get(&id).is_some_and(Followed::is_seen_once)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command};

    use super::*;
    use crate::proc::descriptor::Descriptor;

    /// A process whose input is a socket that has something to read.
    struct Reader(RefCell<Child>);

    impl Reader {
        fn start() -> Self {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("can be bound");
            let address = socket.local_addr().expect("it has one");
            socket.send_to(b"frame", address).expect("it is bound");
            let mut sleep = Command::new("sleep");
            let child = sleep.arg("60").stdin(OwnedFd::from(socket)).spawn();
            Reader(RefCell::new(child.expect("it is there")))
        }

        fn pid(&self) -> u32 {
            self.0.borrow().id()
        }

        fn end(&self) {
            let mut child = self.0.borrow_mut();
            child.kill().expect("it is ours");
            child.wait().expect("it was killed");
        }
    }

    impl Drop for Reader {
        fn drop(&mut self) {
            self.end();
        }
    }

    /// Waits of one coroutine in each of so many processes, for what its input has.
    fn waits(processes: u32) -> Vec<(StationPlace, DescriptorWait)> {
        let wait = |i| DescriptorWait {
            coroutine: CoroutineId(i),
            process: ProcessId(i),
            since: Nanos(5),
            fd: 0,
            reads: true,
        };
        (1..=processes)
            .map(|i| ((0, i as usize), wait(i)))
            .collect()
    }

    fn seen(looks: &[Look]) -> Vec<Seen> {
        looks.iter().map(|look| look.seen).collect()
    }

    // CT-15
    #[test]
    fn the_end_of_a_process_takes_nothing_back() {
        let reader = Reader::start();
        let mut looks = Looks::new(false);
        let mut look = |at, pid_of: &dyn Fn(ProcessId) -> Option<u32>| {
            let reported = looks.look(waits(2), pid_of, |_, _| true, || Nanos(at));
            seen(&reported)
        };
        let only_first = |process: ProcessId| (process.0 == 1).then(|| reader.pid());
        let readable = [Seen::Readable(1)];
        assert_eq!(look(10, &only_first), readable);
        assert_eq!(look(20, &only_first), readable);
        // Its number has been looked at when it ends, its socket has not.
        let ends_then = |process: ProcessId| {
            let pid = only_first(process);
            if pid.is_none() {
                reader.end();
            }
            pid
        };
        assert_eq!(look(90, &ends_then), []);
    }

    // CT-15
    #[test]
    fn who_watches_is_not_known_of_a_process_that_was_left_out() {
        let (place, wait) = waits(1).remove(0);
        let observation = Observation {
            place,
            wait,
            pid: 7,
            held: Held::Open(Descriptor::Socket(4711)),
        };
        let mut looks = Looks::new(false);
        let left_out = Lists::new();
        let cannot_be_requested = Lists::from([(7, None)]);
        let seen = Some(Seen::Empty);
        assert_eq!(looks.with_watchers(&observation, seen, &left_out), seen);
        looks.report(
            &observation,
            Some(Seen::Unwatched(0)),
            Nanos(10),
            &mut Vec::new(),
        );
        assert_eq!(looks.with_watchers(&observation, seen, &left_out), None);
        assert_eq!(
            looks.with_watchers(&observation, seen, &cannot_be_requested),
            seen
        );
        let replaced = Held::Open(Descriptor::Socket(4712));
        let mut reported = Vec::new();
        let observation = Observation {
            held: replaced,
            ..observation
        };
        let seen = looks.with_watchers(&observation, seen, &left_out);
        looks.report(&observation, seen, Nanos(20), &mut reported);
        assert_eq!(
            self::seen(&reported),
            [Seen::Replaced],
            "that needs no list"
        );
    }

    // CT-15
    #[test]
    fn what_was_left_out_this_time_stays_as_it_was_told() {
        let readers: Vec<Reader> = (0..=MOST_LISTS).map(|_| Reader::start()).collect();
        let pid_of = |process: ProcessId| Some(readers[process.0 as usize - 1].pid());
        let (mut looks, mut suspects) = (Looks::new(false), 0);
        for at in 10..40 {
            let reported = looks.look(
                waits(readers.len() as u32),
                pid_of,
                |_, _| true,
                || Nanos(at),
            );
            // Earlier, before that was known, each was open.
            let mut of_now = reported.iter().filter(|look| look.at == Nanos(at));
            assert!(
                of_now.all(|look| look.seen == Seen::Readable(1)),
                "{reported:?}"
            );
            suspects = looks.suspects().len();
        }
        assert_eq!(suspects, readers.len());
    }
}
