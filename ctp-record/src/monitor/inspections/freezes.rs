//! [`Frozen`]: coroutines that wait before their next run, so that their stacks can be copied.
//!
//! The steps GR1 to GR5 are those of [`ctp_nostd::freeze`]. A request ends when its value is dropped, so every way out of
//! the copying code, also by a panic, lets the coroutine go on.

use std::sync::Arc;

use ctp_nostd::freeze::Freeze;
use ctp_nostd::layout::Station;

use super::stacks::StackPlace;
use crate::memory::shm::Memory;

/// Requests that coroutines wait.
#[derive(Debug)]
pub struct Freezer {
    is_allowed: bool,
    /// The number of the latest request.
    number: u16,
}

impl Freezer {
    /// Requests nothing unless `is_allowed`.
    pub fn new(is_allowed: bool) -> Self {
        Freezer {
            is_allowed,
            number: 0,
        }
    }

    /// Requests that these coroutines wait before their next runs. Leaves out coroutines that have had no event since
    /// their latest request.
    pub fn freeze<'w>(&mut self, places: Vec<&'w StackPlace>) -> Frozen<'w> {
        let mut frozen = Frozen::default();
        for place in places {
            match self.request(place) {
                Some(request) => frozen.add(request),
                None => frozen.left_out.push(place),
            }
        }
        frozen
    }

    fn request<'w>(&mut self, place: &'w StackPlace) -> Option<Request<'w>> {
        let (memory, wait) = place;
        let memory = memory.upgrade().filter(|_| self.is_allowed)?;
        let station = memory.region().stations.get(wait.station)?;
        self.number = self.number.wrapping_add(1);
        let freeze = station.request_freeze(wait.generation, self.number)?; // GR1
        Some(Request {
            place,
            freeze,
            memory,
        })
    }
}

/// Coroutines that wait before their next runs, until this is dropped.
#[derive(Debug, Default)]
pub struct Frozen<'w> {
    requests: Vec<Request<'w>>,
    left_out: Vec<&'w StackPlace>,
    /// The memories in which runs look for requests.
    announced: Vec<Arc<Memory>>,
}

impl<'w> Frozen<'w> {
    fn add(&mut self, request: Request<'w>) {
        let memory = &request.memory;
        if !self
            .announced
            .iter()
            .any(|known| Arc::ptr_eq(known, memory))
        {
            memory.region().header.begin_freezes(); // GR2
            self.announced.push(Arc::clone(memory));
        }
        self.requests.push(request);
    }

    /// Whether no coroutine waits any more.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Lets each coroutine go on for which `is_needed` returns false.
    pub fn retain(&mut self, mut is_needed: impl FnMut(&'w StackPlace) -> bool) {
        self.requests.retain(|request| is_needed(request.place));
    }

    /// Lets all coroutines go on. Returns those that still waited, and those that were left out.
    pub fn end(mut self) -> Vec<&'w StackPlace> {
        let mut places = std::mem::take(&mut self.left_out);
        places.extend(self.requests.iter().map(|request| request.place));
        places
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        self.requests.clear();
        for memory in &self.announced {
            memory.region().header.end_freezes(); // GR5
        }
    }
}

/// A request to a coroutine, which is withdrawn when this is dropped.
#[derive(Debug)]
struct Request<'w> {
    place: &'w StackPlace,
    freeze: Freeze,
    memory: Arc<Memory>,
}

impl Request<'_> {
    fn station(&self) -> Option<&Station> {
        let (_, wait) = self.place;
        self.memory.region().stations.get(wait.station)
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        if let Some(station) = self.station() {
            // If the coroutine has waited too long, it has ended the request itself, and counted that.
            station.withdraw_freeze(self.freeze); // GR4
        }
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::{Command, Stdio};
    use std::sync::Weak;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread::{self, JoinHandle};
    use std::time::{Duration, Instant};

    use ctp_inspect::{CoroutineStacks, MemoryImage, ProcessTarget};
    use ctp_nostd::{Platform, Probe, Wait};
    use ctp_trace::record::{CoroutineId, Nanos, ProcessId};

    use super::super::stack_copies::copy_frozen;
    use super::*;
    use crate::harvest::StackWait;
    use crate::memory::clock::Clock;

    /// Far more than any copy takes, so that a run ends a request only if the recorder has forgotten it.
    const LIMIT: Duration = Duration::from_secs(60);

    /// Runs that have waited.
    pub static WAITS: AtomicU64 = AtomicU64::new(0);

    #[derive(Debug)]
    struct Patient;

    #[expect(unsafe_code, reason = "the trait is unsafe to implement")]
    // SAFETY: it has no `Local`.
    unsafe impl Platform for Patient {
        fn now_ns() -> u64 {
            7
        }

        fn thread() -> u64 {
            1
        }

        fn ring() {}

        fn wait_while(is_frozen: impl Fn() -> bool) -> bool {
            WAITS.fetch_add(1, Ordering::Relaxed);
            let begin = Instant::now();
            while is_frozen() && begin.elapsed() < LIMIT {
                thread::yield_now();
            }
            !is_frozen()
        }
    }

    /// A coroutine that another thread resumes without a pause.
    pub struct Loop {
        pub memory: Arc<Memory>,
        turns: Arc<AtomicU64>,
        is_over: Arc<AtomicBool>,
        thread: Option<JoinHandle<()>>,
        pub generation: u32,
    }

    impl Loop {
        pub fn start() -> Self {
            let memory = Arc::new(Memory::of_two_lanes());
            let region = memory.mapped_by_a_fork();
            let (turns, is_over) = (
                Arc::new(AtomicU64::new(0)),
                Arc::new(AtomicBool::new(false)),
            );
            let (owner_turns, is_ended) = (Arc::clone(&turns), Arc::clone(&is_over));
            let thread = thread::spawn(move || {
                let task = Probe::<Patient>::new(region, 1).born("task");
                while !is_ended.load(Ordering::Relaxed) {
                    task.run();
                    task.suspend_with_stack(Wait::to_yield());
                    owner_turns.fetch_add(1, Ordering::Relaxed);
                }
            });
            while turns.load(Ordering::Relaxed) == 0 {
                thread::yield_now();
            }
            let identity = memory.region().stations[0].identity();
            let generation = identity.expect("a coroutine").generation;
            Loop {
                memory,
                turns,
                is_over,
                thread: Some(thread),
                generation,
            }
        }

        pub fn place(&self, generation: u32) -> StackPlace {
            let wait = StackWait {
                coroutine: CoroutineId(5),
                process: ProcessId(1),
                station: 0,
                generation,
                since: Nanos(3),
                at_ns: 7,
            };
            (Arc::downgrade(&self.memory), wait)
        }

        /// Waits for three more turns, then checks that the coroutine was not frozen any more.
        pub fn goes_on(&self) {
            let region = self.memory.region();
            let station = &region.stations[0];
            assert!(!region.header.has_freezes());
            assert_eq!(station.freeze(self.generation), None);
            let turns = self.turns.load(Ordering::Relaxed);
            while self.turns.load(Ordering::Relaxed) < turns + 3 {
                thread::yield_now();
            }
            assert_eq!(region.header.counters().broken_freezes, 0);
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            self.is_over.store(true, Ordering::Relaxed);
            let ended = self.thread.take().map(JoinHandle::join);
            assert!(thread::panicking() || matches!(ended, Some(Ok(()))));
        }
    }

    pub fn of_this_process() -> CoroutineStacks {
        let target = ProcessTarget::open(std::process::id()).expect("this process");
        CoroutineStacks::new(Box::new(target))
    }

    /// Freezes the coroutine, then reads its stack from elsewhere. Returns the number of call stacks.
    fn stacks_from(mut stacks: CoroutineStacks, task: &Loop, generation: u32) -> usize {
        let place = task.place(generation);
        let frozen = Freezer::new(true).freeze(vec![&place]);
        assert!(!frozen.is_empty(), "no request");
        let (valid, _) = copy_frozen(&stacks, frozen, &Clock::start());
        let found = valid.iter().map(|copied| copied.unwind(&mut stacks));
        found.filter(|stack| !stack.addresses.is_empty()).count()
    }

    // STB-08
    #[test]
    fn unreadable_memory_leaves_no_request() {
        let (task, stacks) = (
            Loop::start(),
            CoroutineStacks::new(Box::new(MemoryImage::default())),
        );
        assert_eq!(stacks_from(stacks, &task, task.generation), 0);
        task.goes_on();
    }

    // STB-08
    #[test]
    fn ended_process_leaves_no_request() {
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).spawn().expect("a process");
        let target = ProcessTarget::open(child.id()).expect("a process");
        child.kill().expect("a process");
        child.wait().expect("a process");
        let task = Loop::start();
        let stacks = CoroutineStacks::new(Box::new(target));
        assert_eq!(stacks_from(stacks, &task, task.generation), 0);
        task.goes_on();
    }

    // STB-08, STB-09
    #[test]
    fn other_coroutine_of_the_station_leaves_no_request() {
        let (task, stacks) = (Loop::start(), of_this_process());
        assert_eq!(stacks_from(stacks, &task, task.generation + 2), 0);
        task.goes_on();
    }

    // STB-08
    #[test]
    fn memory_that_is_given_up_leaves_no_request() {
        let (task, mut freezer) = (Loop::start(), Freezer::new(true));
        let place = (Weak::new(), task.place(task.generation).1);
        assert!(freezer.freeze(vec![&place]).is_empty());
        task.goes_on();
    }

    // STB-08
    #[test]
    fn panic_leaves_no_request() {
        let task = Loop::start();
        let place = task.place(task.generation);
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut frozen = Freezer::new(true).freeze(vec![&place]);
            frozen.retain(|_| panic!("the reader fails"));
        }));
        assert!(unwound.is_err());
        task.goes_on();
    }
}
