//! Reads the call stacks of coroutines that wait on stacks of their own.
//!
//! A stack is copied while the coroutine waits, and the copy counts only if the coroutine still waits afterwards. If the
//! coroutine goes on during three copies, its next run waits for the fourth copy, for a bounded time.

use std::sync::Weak;

use ctp_inspect::CoroutineStacks;
use ctp_trace::record::CoroutineStack;

use super::freezes::Freezer;
use super::stack_copies::{Copied, copy_all, copy_frozen};
use crate::harvest::StackWait;
use crate::memory::clock::Clock;
use crate::memory::shm::Memory;

/// Coroutines whose stacks are copied before the first of the copies is checked. Also the maximum number of coroutines
/// that wait for a copy at a time.
const BATCH: usize = 16;
/// How often the stack of a coroutine is copied if the coroutine goes on meanwhile.
const ATTEMPTS: usize = 3;

/// A wait, and the memory with the coroutine's station.
pub type StackPlace = (Weak<Memory>, StackWait);

/// Reads the stacks of these coroutines. Leaves out coroutines that do not wait any more, and stacks that cannot be
/// read, as in a process that has ended.
pub fn read(
    stacks: &mut CoroutineStacks,
    places: &[StackPlace],
    clock: &Clock,
    freezer: &mut Freezer,
) -> Vec<CoroutineStack> {
    let mut read = Vec::new();
    for batch in places.chunks(BATCH) {
        let mut left: Vec<&StackPlace> = batch.iter().collect();
        for attempt in 0..ATTEMPTS {
            let copies = copy_all(stacks, left, clock);
            read.extend(unwind_all(stacks, &copies.valid));
            left = copies.moving;
            // A coroutine that runs at the first attempt no longer waits.
            if 0 < attempt {
                left.extend(copies.running);
            }
        }
        let (valid, moving) = copy_frozen(stacks, freezer.freeze(left), clock);
        read.extend(unwind_all(stacks, &valid));
        read.extend(moving.into_iter().map(|place| moving_stack(place, clock)));
    }
    read
}

/// The call stacks in these copies. Leaves out stacks that could not be read.
fn unwind_all(stacks: &mut CoroutineStacks, copies: &[Copied<'_>]) -> Vec<CoroutineStack> {
    let known = copies.iter().map(|copied| copied.unwind(stacks));
    known.filter(|stack| !stack.addresses.is_empty()).collect()
}

/// The record of a coroutine that went on during each copy.
fn moving_stack((_, wait): &StackPlace, clock: &Clock) -> CoroutineStack {
    CoroutineStack {
        coroutine: wait.coroutine,
        since: wait.since,
        at: clock.now(),
        is_moving: true,
        ..CoroutineStack::default()
    }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::hint::black_box;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use ctp_inspect::ProcessTarget;
    use ctp_nostd::{Coroutine, Platform, Probe, Wait};
    use ctp_trace::record::{CoroutineId, Nanos, ProcessId};

    use super::*;

    /// The size of the code of `wait_here` is less than this.
    const CODE_BYTES: u64 = 4096;

    #[derive(Debug)]
    struct Here;

    #[expect(unsafe_code, reason = "the trait is unsafe to implement")]
    // SAFETY: it has no `Local`.
    unsafe impl Platform for Here {
        fn now_ns() -> u64 {
            7
        }

        fn thread() -> u64 {
            1
        }

        fn ring() {}
    }

    /// Waits until another thread says to go on.
    #[inline(never)]
    fn wait_here(task: &Coroutine<Here>, waits: &Sender<()>, go_on: &Receiver<()>) {
        task.suspend_with_stack(Wait::user(1));
        waits.send(()).expect("the reader waits");
        go_on.recv().expect("the reader continues");
        black_box(task);
    }

    #[inline(never)]
    fn caller(task: &Coroutine<Here>, waits: &Sender<()>, go_on: &Receiver<()>) {
        let local = black_box([1_u64; 9]);
        wait_here(task, waits, go_on);
        black_box(local);
    }

    fn is_in(function: usize, address: u64) -> bool {
        (function as u64..function as u64 + CODE_BYTES).contains(&address)
    }

    fn request(generation: u32) -> StackWait {
        StackWait {
            coroutine: CoroutineId(5),
            process: ProcessId(1),
            station: 0,
            generation,
            since: Nanos(3),
            at_ns: 7,
        }
    }

    // STB-09, STB-13
    #[test]
    fn stack_of_the_reading_process_is_read_during_a_wait() {
        let memory = Arc::new(Memory::of_two_lanes());
        let region = memory.mapped_by_a_fork();
        let (waits, is_waiting) = channel();
        let (continues, go_on) = channel();
        let owner = thread::spawn(move || {
            let task = Probe::<Here>::new(region, 1).born("task");
            task.run();
            caller(&task, &waits, &go_on);
            task.run();
            waits.send(()).expect("the reader waits");
            go_on.recv().expect("the reader continues");
        });
        is_waiting.recv().expect("the coroutine waits");
        let target = ProcessTarget::open(std::process::id()).expect("this process");
        let mut stacks = CoroutineStacks::new(Box::new(target));
        stacks.refresh().expect("this process lives");
        let (clock, mut freezer) = (Clock::start(), Freezer::new(true));
        let generation = memory.region().stations[0].identity().expect("a coroutine");
        let place = (Arc::downgrade(&memory), request(generation.generation));
        let other = (Arc::downgrade(&memory), request(generation.generation + 2));
        let found = read(&mut stacks, &[place.clone(), other], &clock, &mut freezer);
        let [stack] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((stack.coroutine, stack.since), (CoroutineId(5), Nanos(3)));
        assert!(is_in(
            wait_here as fn(&_, &_, &_) as usize,
            stack.addresses[0]
        ));
        assert!(is_in(caller as fn(&_, &_, &_) as usize, stack.addresses[1]));
        assert!(!stack.is_moving);
        continues.send(()).expect("the coroutine waits");
        is_waiting.recv().expect("the coroutine runs");
        assert_eq!(read(&mut stacks, &[place], &clock, &mut freezer), []);
        continues.send(()).expect("the coroutine ends");
        owner.join().expect("it does not panic");
    }
}
