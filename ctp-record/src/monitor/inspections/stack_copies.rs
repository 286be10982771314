//! Copies of the stacks of coroutines that wait on stacks of their own.
//!
//! The steps CR1 to CR5 are those of [`ctp_nostd::suspended_stack`].

use std::thread::sleep;
use std::time::{Duration, Instant};

use ctp_inspect::stacks::CopiedStack;
use ctp_inspect::{CoroutineStacks, Position};
use ctp_nostd::layout::Station;
use ctp_nostd::suspended_stack::{NoStack, SuspendedStack};
use ctp_trace::record::{CoroutineStack, Nanos};

use super::freezes::Frozen;
use super::stacks::StackPlace;
use crate::harvest::StackWait;
use crate::memory::clock::Clock;
use crate::memory::shm::Memory;

/// How long coroutines are frozen at most, until each has come to its next run. Shorter than the limit of the coroutines,
/// so that no run has to end a request.
const FROZEN: Duration = Duration::from_millis(10);
/// The pause before the next look at coroutines that have not come to their next run yet.
const PAUSE: Duration = Duration::from_micros(20);

/// An attempt to copy a stack.
enum Attempt<'w> {
    /// A copy that is not checked yet.
    Copied(Copied<'w>),
    /// The coroutine runs, or changes its state at this moment.
    Moves,
    /// The coroutine has ended, or no longer says where it waits.
    Over,
}

/// A copied stack.
pub(super) struct Copied<'w> {
    place: &'w StackPlace,
    wait: SuspendedStack,
    at: Nanos,
    stack: CopiedStack,
}

/// The results of an attempt to copy several stacks.
#[derive(Default)]
pub(super) struct Copies<'w> {
    pub valid: Vec<Copied<'w>>,
    /// Coroutines that went on during the copy.
    pub moving: Vec<&'w StackPlace>,
    /// Coroutines that did not wait.
    pub running: Vec<&'w StackPlace>,
}

/// CR1 to CR5 for these coroutines, without waiting for any.
pub(super) fn copy_all<'w>(
    stacks: &CoroutineStacks,
    places: Vec<&'w StackPlace>,
    clock: &Clock,
) -> Copies<'w> {
    let attempts: Vec<(&StackPlace, Attempt<'_>)> = places
        .into_iter()
        .map(|place| (place, copy(stacks, place, clock)))
        .collect();
    let mut copies = Copies::default();
    for (place, attempt) in attempts {
        match attempt {
            Attempt::Copied(copied) if copied.is_valid() => copies.valid.push(copied),
            Attempt::Copied(_) => copies.moving.push(place),
            Attempt::Moves => copies.running.push(place),
            Attempt::Over => {}
        }
    }
    copies
}

/// Copies the stack of each frozen coroutine once it waits, and lets it go on. Returns the copies, and the coroutines
/// that have not waited within the time.
pub(super) fn copy_frozen<'w>(
    stacks: &CoroutineStacks,
    mut frozen: Frozen<'w>,
    clock: &Clock,
) -> (Vec<Copied<'w>>, Vec<&'w StackPlace>) {
    let begin = Instant::now();
    let mut valid = Vec::new();
    loop {
        frozen.retain(|place| match copy(stacks, place, clock) {
            Attempt::Copied(copied) if copied.is_valid() => {
                valid.push(copied);
                false
            }
            Attempt::Copied(_) | Attempt::Moves => true,
            Attempt::Over => false,
        });
        if frozen.is_empty() || FROZEN <= begin.elapsed() {
            return (valid, frozen.end());
        }
        sleep(PAUSE);
    }
}

/// CR1 to CR3.
fn copy<'w>(stacks: &CoroutineStacks, place: &'w StackPlace, clock: &Clock) -> Attempt<'w> {
    let (memory, requested) = place;
    let memory = memory.upgrade();
    let station = memory
        .as_deref()
        .and_then(|memory| station(memory, requested));
    let Some(station) = station else {
        return Attempt::Over;
    };
    match SuspendedStack::read(station) {
        Ok(wait) if wait.generation == requested.generation => Attempt::Copied(Copied {
            place,
            wait,
            at: clock.now(),
            stack: stacks.copy(&position(&wait)),
        }),
        Err(NoStack::Runs | NoStack::Changes) => Attempt::Moves,
        _ => Attempt::Over,
    }
}

fn station<'m>(memory: &'m Memory, requested: &StackWait) -> Option<&'m Station> {
    memory.region().stations.get(requested.station)
}

fn position(wait: &SuspendedStack) -> Position {
    Position {
        pc: wait.pc,
        sp: wait.sp,
        fp: wait.fp,
    }
}

impl Copied<'_> {
    /// CR4 and CR5.
    fn is_valid(&self) -> bool {
        let (memory, requested) = self.place;
        let memory = memory.upgrade();
        let station = memory
            .as_deref()
            .and_then(|memory| station(memory, requested));
        station.is_some_and(|station| self.wait.is_still(station))
    }

    /// The call stack in the copy. Without addresses if nothing could be copied.
    pub fn unwind(&self, stacks: &mut CoroutineStacks) -> CoroutineStack {
        let (_, requested) = self.place;
        let stack = stacks.unwind(&position(&self.wait), &self.stack);
        CoroutineStack {
            coroutine: requested.coroutine,
            since: requested.time_of(self.wait.at_ns),
            at: self.at,
            addresses: stack.addresses,
            is_whole: stack.is_whole,
            is_moving: false,
        }
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::freezes::Freezer;
    use super::super::freezes::tests::{Loop, WAITS, of_this_process};
    use super::*;

    /// How often a coroutine is frozen. On a busy machine, its thread may not run in one of the rounds.
    const ROUNDS: usize = 50;

    // STB-07, STB-11
    #[test]
    fn coroutine_in_a_loop_is_copied_and_goes_on() {
        let (task, stacks, clock) = (Loop::start(), of_this_process(), Clock::start());
        let place = task.place(task.generation);
        let mut freezer = Freezer::new(true);
        let mut copied = 0;
        for _ in 0..ROUNDS {
            let (valid, _) = copy_frozen(&stacks, freezer.freeze(vec![&place]), &clock);
            assert!(valid.iter().all(|copy| !copy.stack.is_empty()));
            copied += valid.len();
            task.goes_on();
        }
        assert!(0 < copied, "no copy is valid");
        assert!(0 < WAITS.load(Ordering::Relaxed), "no run has waited");
    }

    #[test]
    fn freezer_that_is_off_requests_nothing() {
        let (task, stacks, clock) = (Loop::start(), of_this_process(), Clock::start());
        let place = task.place(task.generation);
        let frozen = Freezer::new(false).freeze(vec![&place]);
        assert!(frozen.is_empty() && !task.memory.region().header.has_freezes());
        let (valid, moving) = copy_frozen(&stacks, frozen, &clock);
        assert_eq!((valid.len(), moving.len()), (0, 1));
    }
}
