//! Reads the call stacks of coroutines that wait on stacks of their own.
//!
//! A stack is copied while the coroutine waits, and the copy counts only if the coroutine still waits afterwards. The
//! program is not stopped. The steps CR1 to CR5 are those of [`ctp_nostd::suspended_stack`].

use std::sync::Weak;

use ctp_inspect::stacks::CopiedStack;
use ctp_inspect::{CoroutineStacks, Position};
use ctp_nostd::layout::Station;
use ctp_nostd::suspended_stack::SuspendedStack;
use ctp_trace::record::{CoroutineStack, Nanos};

use crate::harvest::StackWait;
use crate::memory::clock::Clock;
use crate::memory::shm::Memory;

/// Coroutines whose stacks are copied before the first of the copies is checked.
const BATCH: usize = 16;
/// How often the stack of a coroutine is copied if the coroutine goes on meanwhile.
const ATTEMPTS: usize = 3;

/// A wait, and the memory with the coroutine's station.
pub type StackPlace = (Weak<Memory>, StackWait);

/// A copied stack that is not checked yet.
struct Copied<'w> {
    place: &'w StackPlace,
    wait: SuspendedStack,
    at: Nanos,
    stack: CopiedStack,
}

/// Reads the stacks of these coroutines. Leaves out coroutines that do not wait any more, and stacks that cannot be
/// read, as in a process that has ended.
pub fn read(
    stacks: &mut CoroutineStacks,
    places: &[StackPlace],
    clock: &Clock,
) -> Vec<CoroutineStack> {
    let mut read = Vec::new();
    for batch in places.chunks(BATCH) {
        let mut left: Vec<&StackPlace> = batch.iter().collect();
        for _ in 0..ATTEMPTS {
            let copies = left.iter().filter_map(|place| copy(stacks, place, clock));
            let copies: Vec<Copied<'_>> = copies.collect();
            let (valid, moved): (Vec<_>, Vec<_>) = copies.into_iter().partition(Copied::is_valid);
            let known = valid.iter().map(|copied| copied.unwind(stacks));
            read.extend(known.filter(|stack| !stack.addresses.is_empty()));
            left = moved.iter().map(|copied| copied.place).collect();
        }
        let moving = left.into_iter().map(|(_, wait)| CoroutineStack {
            coroutine: wait.coroutine,
            since: wait.since,
            at: clock.now(),
            is_moving: true,
            ..CoroutineStack::default()
        });
        read.extend(moving);
    }
    read
}

/// CR1 to CR3.
fn copy<'w>(stacks: &CoroutineStacks, place: &'w StackPlace, clock: &Clock) -> Option<Copied<'w>> {
    let (memory, requested) = place;
    let memory = memory.upgrade()?;
    let station = station(&memory, requested)?;
    let wait = SuspendedStack::read(station).ok()?;
    let is_same = wait.generation == requested.generation;
    is_same.then(|| Copied {
        place,
        wait,
        at: clock.now(),
        stack: stacks.copy(&position(&wait)),
    })
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

    fn unwind(&self, stacks: &mut CoroutineStacks) -> CoroutineStack {
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
    use std::hint::black_box;
    use std::sync::Arc;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use ctp_inspect::ProcessTarget;
    use ctp_nostd::{Coroutine, Platform, Probe, Wait};
    use ctp_trace::record::{CoroutineId, ProcessId};

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
        let clock = Clock::start();
        let generation = memory.region().stations[0].identity().expect("a coroutine");
        let place = (Arc::downgrade(&memory), request(generation.generation));
        let other = (Arc::downgrade(&memory), request(generation.generation + 2));
        let found = read(&mut stacks, &[place.clone(), other], &clock);
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
        assert_eq!(read(&mut stacks, &[place], &clock), []);
        continues.send(()).expect("the coroutine ends");
        owner.join().expect("it does not panic");
    }
}
