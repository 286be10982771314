//! Observes from outside the descriptors that coroutines wait for: closed, reused, readable, or unwatched.
//!
//! Only `/proc` and the kernel's lists of local sockets are read. The program is not stopped, and no descriptor
//! is duplicated, because a duplicate would keep the descriptor open.
//!
//! Normal states are not recorded, with one exception: that there is nothing to read, which explains a long wait. A
//! descriptor is reported as closed or reused only if an earlier observation of the same wait found it open. Otherwise
//! the record says that it was closed at first: the number that the program stated may not be a file descriptor at all.
//!
//! For long waits in small processes, the epolls that watch the descriptor are read too. The kernel
//! lists them under a lock of the epoll.
//!
//! The work is bounded: a few hundred descriptors a second, in turns, and none while no wait is long.

mod changed;
mod drained;
mod followed;
mod observation;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use ctp_trace::record::{CoroutineId, Look, Nanos, ProcessId, Seen};

use crate::harvest::DescriptorWait;
use crate::memory::memory_set::StationPlace;
use crate::proc::descriptor::{self, DescriptorState};
use changed::Changed;
use drained::Drained;
use followed::FollowedWait;
use observation::{
    Lists, MAX_LISTS, Observation, ended_of, is_watched, seen_of, tables_for, unwatched,
    watched_for,
};

/// A wait of this length is observed.
pub const LONG: Duration = Duration::from_millis(500);
/// Maximum number of waits observed in a round.
pub const MAX_WAITS: usize = 256;
/// Maximum number of stations scanned for waits in a round.
pub const MAX_STATIONS: usize = 1 << 14;
/// Time from a round to the next.
const EVERY: Duration = Duration::from_secs(1);
/// The longest time from a round to the next, as far as [`SHARE_AT_MOST`] permits: a finding explains a wait for
/// a few seconds only.
const LATEST: Duration = Duration::from_secs(2);
/// Time to the next round while a remarkable finding needs a second observation.
const SOON: Duration = Duration::from_millis(200);
/// Rounds use one n-th of a processor, if they take so little time that findings do not become old meanwhile.
const SHARE: u32 = 500;
/// Rounds always use at most one n-th of a processor.
const SHARE_AT_MOST: u32 = 100;
/// Maximum number of waits that are remembered; when it is reached, all are forgotten.
const MAX_FOLLOWED: usize = 1 << 16;

/// The observations so far, and the time of the next round.
#[derive(Debug)]
pub struct Observations {
    next: Instant,
    /// The station at which the next scan starts.
    pub cursor: StationPlace,
    followed: HashMap<CoroutineId, FollowedWait>,
    /// Waits with a remarkable record, with their stations.
    suspects: Vec<(StationPlace, CoroutineId)>,
    /// Processes that the recorder may not inspect.
    hidden: HashSet<ProcessId>,
    /// Processes in which an epoll watches some awaited descriptor. There, an unwatched descriptor is remarkable.
    watching: HashSet<ProcessId>,
    /// Processes in which no thread could continue by itself at the latest observation.
    quiet: HashSet<ProcessId>,
    /// Observations of the sockets of whole processes.
    pub drained: Drained,
    /// Normal observations are recorded only at the end.
    saves_room: bool,
}

impl Observations {
    /// With `saves_room`, normal observations are recorded only at the end.
    pub fn new(saves_room: bool) -> Self {
        Observations {
            next: Instant::now(),
            cursor: (0, 0),
            followed: HashMap::new(),
            suspects: Vec::new(),
            hidden: HashSet::new(),
            watching: HashSet::new(),
            quiet: HashSet::new(),
            drained: Drained::default(),
            saves_room,
        }
    }

    /// Whether the next round is due.
    pub fn is_due(&self) -> bool {
        self.next <= Instant::now()
    }

    /// Schedules the next round, after a round that used this much processor time.
    pub fn rest(&mut self, took: Duration) {
        let pause = if self.needs_second() {
            SOON
        } else {
            usual_pause(took)
        };
        self.next = Instant::now() + pause.max(took * SHARE_AT_MOST);
    }

    /// How long the main loop may sleep; `None` without a finding that needs a second observation.
    pub fn pause(&self) -> Option<Duration> {
        self.needs_second()
            .then(|| self.next.saturating_duration_since(Instant::now()))
    }

    /// Whether to record an observation of the threads of a process: while none of them can continue by
    /// itself, and once afterwards.
    pub fn is_notable(&mut self, process: ProcessId, is_quiet: bool) -> bool {
        if is_quiet {
            self.quiet.insert(process);
            true
        } else {
            self.quiet.remove(&process)
        }
    }

    /// Takes the stations of remarkable waits, which every round observes.
    pub fn suspects(&mut self) -> Vec<StationPlace> {
        let suspects = std::mem::take(&mut self.suspects);
        suspects.into_iter().map(|(place, _)| place).collect()
    }

    /// Observes these waits and returns the records to write. `pid_of` returns the kernel's id of a process, and
    /// `is_still` checks whether a wait goes on.
    pub fn observe(
        &mut self,
        waits: Vec<(StationPlace, DescriptorWait)>,
        pid_of: impl Fn(ProcessId) -> Option<u32>,
        is_still: impl Fn(StationPlace, &DescriptorWait) -> bool,
        now: impl Fn() -> Nanos,
    ) -> Vec<Look> {
        let observations = waits.into_iter().filter_map(|(place, wait)| {
            let pid = pid_of(wait.process)?;
            let state = descriptor::state_of(pid, wait.fd);
            Some(Observation {
                place,
                wait,
                pid,
                state,
            })
        });
        let mut observations: Vec<Observation> = observations.collect();
        self.confirm(&mut observations);
        let tables = tables_for(&observations);
        let watched = watched_for(&observations, now());
        self.note_watchers(&observations, &watched);
        let observations: Vec<_> = observations
            .into_iter()
            .map(|observation| {
                let seen = seen_of(&observation, tables.get(&observation.pid));
                let seen = self.with_watchers(&observation, seen, &watched);
                (observation, seen)
            })
            .collect();
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

    /// The latest unrecorded observations of normal waits, for the end of the trace.
    pub fn last(&self) -> impl Iterator<Item = Look> {
        self.followed.values().filter_map(FollowedWait::unrecorded)
    }

    fn note_watchers(&mut self, observations: &[Observation], watched: &Lists) {
        let some = observations
            .iter()
            .filter(|observation| is_watched(observation, watched) == Some(true));
        self.watching
            .extend(some.map(|observation| observation.wait.process));
    }

    /// Adds to an observation whether no epoll watches the descriptor, although epolls of the process watch
    /// others. Returns `None` if the process was left out of this round and the last record stays valid.
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

    /// Whether the descriptor is open and the last record says that no epoll watches it.
    fn was_unwatched(&self, observation: &Observation) -> bool {
        let followed = self.followed.get(&observation.wait.coroutine);
        let was = followed.is_some_and(|followed| {
            followed.since == observation.wait.since && followed.was_unwatched()
        });
        was && matches!(observation.state, DescriptorState::Open(_))
    }

    /// Checks again, and more closely, descriptors that have changed.
    fn confirm(&self, observations: &mut [Observation]) {
        let mut all: HashMap<u32, Vec<Changed>> = HashMap::new();
        for observation in observations {
            let pid = observation.pid;
            if let Some(changed) = self.changed(observation) {
                all.entry(pid).or_default().push(changed);
            }
        }
        for (i, (pid, mut changed)) in all.into_iter().enumerate() {
            if i < MAX_LISTS {
                changed::confirm(pid, &mut changed);
            } else {
                changed::detach(&mut changed);
            }
        }
    }

    fn changed<'a>(&self, observation: &'a mut Observation) -> Option<Changed<'a>> {
        let wait = &observation.wait;
        let followed = self.followed.get(&wait.coroutine)?;
        let is_changed = followed.since == wait.since && followed.is_changed(&observation.state);
        let was = followed.descriptor.filter(|_| is_changed)?;
        Some(Changed {
            fd: wait.fd,
            was,
            state: &mut observation.state,
        })
    }

    /// Adds the records of an observation. Without a result in this round, the last record stays valid.
    fn report(
        &mut self,
        observation: &Observation,
        seen: Option<Seen>,
        at: Nanos,
        looks: &mut Vec<Look>,
    ) {
        let Observation { wait, state, .. } = observation;
        let look = |seen| Look {
            coroutine: wait.coroutine,
            since: wait.since,
            at,
            fd: wait.fd,
            seen,
            ..Look::default()
        };
        match state {
            DescriptorState::Unknown => return,
            DescriptorState::Hidden if self.hidden.insert(wait.process) => {
                looks.push(look(Seen::Hidden))
            }
            DescriptorState::Hidden => return,
            DescriptorState::Open(_) | DescriptorState::Closed | DescriptorState::NumberClosed => {}
        }
        if self.followed.len() == MAX_FOLLOWED {
            self.followed.clear();
        }
        let before = self.followed.remove(&wait.coroutine);
        let followed =
            before.filter(|before| before.since == wait.since && !before.has_opened(state));
        let Some(mut followed) = followed.or_else(|| FollowedWait::of(wait.since, state, at))
        else {
            return;
        };
        let is_changed = followed.is_changed(state);
        if let Some(seen) = seen.or(is_changed.then_some(Seen::Open)) {
            looks.extend(followed.note(state, look(seen), self.saves_room));
        }
        if followed.is_suspect() {
            self.suspects.push((observation.place, wait.coroutine));
        }
        self.followed.insert(wait.coroutine, followed);
    }

    /// Whether a remarkable finding was recorded only once, or some socket holds something.
    fn needs_second(&self) -> bool {
        let mut suspects = self.suspects.iter();
        suspects.any(|(_, id)| self.is_seen_once(*id)) || self.drained.needs_second()
    }

    fn is_seen_once(&self, id: CoroutineId) -> bool {
        self.followed
            .get(&id)
            .is_some_and(FollowedWait::is_seen_once)
    }
}

/// The time to the next round without a remarkable finding, after a round that used this much processor time.
fn usual_pause(took: Duration) -> Duration {
    (took * SHARE).clamp(EVERY, LATEST)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::net::UdpSocket;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command};

    use super::*;
    use crate::proc::descriptor::Descriptor;

    /// A process with a readable socket as its standard input.
    struct Reader(RefCell<Child>);

    impl Reader {
        fn start() -> Self {
            let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
            let address = socket.local_addr().expect("an address");
            socket.send_to(b"frame", address).expect("a bound socket");
            let mut sleep = Command::new("sleep");
            let child = sleep.arg("60").stdin(OwnedFd::from(socket)).spawn();
            Reader(RefCell::new(child.expect("the program exists")))
        }

        fn pid(&self) -> u32 {
            self.0.borrow().id()
        }

        fn end(&self) {
            let mut child = self.0.borrow_mut();
            child.kill().expect("our child");
            child.wait().expect("a killed child");
        }
    }

    impl Drop for Reader {
        fn drop(&mut self) {
            self.end();
        }
    }

    /// A wait in each of these processes for its standard input.
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
    fn the_end_of_a_process_withdraws_no_finding() {
        let reader = Reader::start();
        let mut observations = Observations::new(false);
        let mut look = |at, pid_of: &dyn Fn(ProcessId) -> Option<u32>| {
            let reported = observations.observe(waits(2), pid_of, |_, _| true, || Nanos(at));
            seen(&reported)
        };
        let only_first = |process: ProcessId| (process.0 == 1).then(|| reader.pid());
        let readable = [Seen::Readable(1)];
        assert_eq!(look(10, &only_first), readable);
        assert_eq!(look(20, &only_first), readable);
        // The process ends between the reading of its descriptor and of its socket.
        let ends_before_socket = |process: ProcessId| {
            let pid = only_first(process);
            if pid.is_none() {
                reader.end();
            }
            pid
        };
        assert_eq!(look(90, &ends_before_socket), []);
    }

    // CT-15
    #[test]
    fn a_process_left_out_keeps_the_unwatched_record() {
        let (place, wait) = waits(1).remove(0);
        let observation = Observation {
            place,
            wait,
            pid: 7,
            state: DescriptorState::Open(Descriptor::Socket(4711)),
        };
        let mut observations = Observations::new(false);
        let left_out = Lists::new();
        let cannot_be_requested = Lists::from([(7, None)]);
        let seen = Some(Seen::Empty);
        assert_eq!(
            observations.with_watchers(&observation, seen, &left_out),
            seen
        );
        observations.report(
            &observation,
            Some(Seen::Unwatched(0)),
            Nanos(10),
            &mut Vec::new(),
        );
        assert_eq!(
            observations.with_watchers(&observation, seen, &left_out),
            None
        );
        assert_eq!(
            observations.with_watchers(&observation, seen, &cannot_be_requested),
            seen
        );
        let replaced = DescriptorState::Open(Descriptor::Socket(4712));
        let mut reported = Vec::new();
        let observation = Observation {
            state: replaced,
            ..observation
        };
        let seen = observations.with_watchers(&observation, seen, &left_out);
        observations.report(&observation, seen, Nanos(20), &mut reported);
        assert_eq!(
            self::seen(&reported),
            [Seen::Replaced],
            "needs no list of watches"
        );
    }

    // CT-15
    #[test]
    fn a_process_left_out_keeps_the_last_record() {
        let readers: Vec<Reader> = (0..=MAX_LISTS).map(|_| Reader::start()).collect();
        let pid_of = |process: ProcessId| Some(readers[process.0 as usize - 1].pid());
        let (mut observations, mut suspects) = (Observations::new(false), 0);
        for at in 10..40 {
            let reported = observations.observe(
                waits(readers.len() as u32),
                pid_of,
                |_, _| true,
                || Nanos(at),
            );
            // Records of earlier times say that the descriptor was open.
            let mut of_now = reported.iter().filter(|look| look.at == Nanos(at));
            assert!(
                of_now.all(|look| look.seen == Seen::Readable(1)),
                "{reported:?}"
            );
            suspects = observations.suspects().len();
        }
        assert_eq!(suspects, readers.len());
    }

    #[test]
    fn rounds_that_take_long_are_not_postponed_for_ever() {
        let pauses = [0, 1, 3, 8, 40].map(|ms| usual_pause(Duration::from_millis(ms)).as_millis());
        assert_eq!(pauses, [1_000, 1_000, 1_500, 2_000, 2_000]);
    }
}
