//! [`ThreadInspector`]: the thread records of successive inspections of a process.

use std::collections::HashMap;

use ctp_trace::record::{InspectedThread, ProcessId, TaskId, ThreadRole};
use symbolize::SearchPaths;

use crate::stacks::{Registers, Stack, StackFrame, Unwinder, WithStack};
use crate::target::Target;
use crate::target::mapping::Mapping;
use crate::threads::block_in_place::BlockInPlace;
use crate::threads::block_on::block_on_frames;
use crate::threads::names::FrameMarks;
use crate::threads::polled::{self, PollableTask};
use crate::threads::role::RuntimeActivity;
use crate::threads::{ThreadSample, ThreadState, syscall_names};

/// The maximum number of threads that are inspected.
const MAX_THREADS: usize = 1 << 14;
/// How many times a thread is read if it continues while its stack is read.
const MAX_ATTEMPTS: usize = 3;

/// The threads of an inspection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectedThreads {
    /// The threads that are new or differ from the inspection before, by ascending ids.
    pub changed: Vec<InspectedThread>,
    /// The threads of earlier inspections that exist no longer, by the kernel's ids.
    pub ended: Vec<u32>,
    /// Sentences about what could not be read.
    pub gaps: Vec<String>,
}

/// Inspects the threads of a process repeatedly.
pub struct ThreadInspector {
    unwinder: Unwinder,
    marks: FrameMarks,
    code: Vec<Mapping>,
    known: HashMap<u32, Known>,
    block_in_place: BlockInPlace,
    /// A thread was found that may have let another thread take over as the worker.
    has_doubtful_worker: bool,
}

/// What the last inspection found.
struct Known {
    thread: InspectedThread,
    /// Where the thread was blocked.
    registers: Option<Box<Registers>>,
    /// The frames in which `block_on` keeps its future, if the thread is parked there; innermost first.
    block_on: Vec<StackFrame>,
}

/// A thread that is parked in `block_on`.
#[derive(Clone, Copy, Debug)]
pub struct ParkedThread<'i> {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The frames in which `block_on` keeps its future, innermost first.
    pub frames: &'i [StackFrame],
}

impl ThreadInspector {
    /// Reads the names of functions from files in `search_paths`. Opens none yet.
    pub fn new(search_paths: SearchPaths) -> Self {
        ThreadInspector {
            unwinder: Unwinder::default(),
            marks: FrameMarks::new(search_paths),
            code: Vec::new(),
            known: HashMap::new(),
            block_in_place: BlockInPlace::default(),
            has_doubtful_worker: false,
        }
    }

    /// Inspects all threads. `tasks` has the tasks that exist, sorted by address.
    pub fn inspect(
        &mut self,
        target: &dyn Target,
        process: ProcessId,
        tasks: &[PollableTask],
    ) -> InspectedThreads {
        self.set_mappings(target);
        let ids = target.thread_ids();
        let mut inspected = InspectedThreads {
            gaps: gap_of_many(ids.len()).into_iter().collect(),
            ..InspectedThreads::default()
        };
        let mut present = HashMap::new();
        let mut unknown = 0;
        for tid in ids.into_iter().take(MAX_THREADS) {
            let before = self.known.remove(&tid);
            let Some(now) = self.thread(target, process, tasks, tid, before.as_ref()) else {
                inspected.ended.extend(before.map(|_| tid));
                continue;
            };
            unknown += usize::from(now.is_unknown);
            if before.is_none_or(|before| before.thread != now.known.thread) {
                inspected.changed.push(now.known.thread.clone());
            }
            present.insert(tid, now.known);
        }
        inspected
            .ended
            .extend(self.known.drain().map(|(tid, _)| tid));
        inspected.ended.sort_unstable();
        inspected.gaps.extend(gap_of_unknown(unknown));
        inspected
            .gaps
            .extend(uncertain_worker(self.has_doubtful_worker));
        self.known = present;
        inspected.gaps.extend(self.gap_of_stopped(target));
        inspected
    }

    /// The threads that are blocked while they poll a task, by the task.
    pub fn by_polled_task(&self) -> HashMap<TaskId, u32> {
        self.known
            .values()
            .filter_map(|known| Some((known.thread.polls?, known.thread.tid)))
            .collect()
    }

    /// The threads that are parked in `block_on`, by ascending ids.
    pub fn parked_in_block_on(&self) -> Vec<ParkedThread<'_>> {
        let known = self.known.values();
        let parked = known.filter(|known| !known.block_on.is_empty());
        let mut parked: Vec<_> = parked
            .map(|known| ParkedThread {
                tid: known.thread.tid,
                frames: &known.block_on,
            })
            .collect();
        parked.sort_unstable_by_key(|thread| thread.tid);
        parked
    }

    /// Whether a thread has been blocked all the time since the last inspection.
    pub fn has_not_moved(&self, target: &dyn Target, tid: u32) -> bool {
        let (known, sample) = (self.known.get(&tid), target.thread(tid));
        let (Some(known), Some(sample)) = (known, sample) else {
            return false;
        };
        match &sample.state {
            ThreadState::Blocked { registers, .. } => known.has_not_moved(&sample, registers),
            _ => false,
        }
    }

    /// Says that the process is stopped, if all its threads are. The threads of a core file always are.
    fn gap_of_stopped(&self, target: &dyn Target) -> Option<String> {
        let mut threads = self.known.values();
        let is_stopped = threads.all(|known| known.thread.is_stopped());
        let is_process = target.core_file().is_empty() && !self.known.is_empty();
        (is_stopped && is_process).then(|| {
            "The process is stopped, by a signal or a debugger, so that no task can continue."
                .to_owned()
        })
    }

    /// If the process has mapped other code, forgets what was read from the earlier files.
    fn set_mappings(&mut self, target: &dyn Target) {
        let mappings = target.mappings().iter();
        let code = || mappings.clone().filter(|mapping| mapping.is_executable);
        if !self.code.iter().eq(code()) {
            self.code = code().cloned().collect();
            self.unwinder.forget();
            self.block_in_place.forget();
            self.marks.set_mappings(target);
        }
    }

    /// What a thread does; `None` if it has ended.
    fn thread(
        &mut self,
        target: &dyn Target,
        process: ProcessId,
        tasks: &[PollableTask],
        tid: u32,
        before: Option<&Known>,
    ) -> Option<Sampled> {
        let mut sample = target.thread(tid)?;
        for _ in 0..MAX_ATTEMPTS {
            let (syscall, registers) = match &sample.state {
                ThreadState::Blocked { syscall, registers } => (syscall, registers),
                ThreadState::Interrupted { registers, stack } => {
                    let target = WithStack { target, stack };
                    return Some(self.interrupted(&target, process, tasks, &sample, registers));
                }
                _ => break,
            };
            if let Some(known) = before.filter(|known| known.is_still(&sample, registers)) {
                let (thread, block_on) = (known.thread.clone(), known.block_on.clone());
                return Some(Sampled::known(thread, registers, block_on));
            }
            let stack = self.unwinder.unwind(target, registers);
            let mut thread = plain(process, &sample);
            thread.syscall = *syscall;
            thread.call = syscall_name(registers, *syscall);
            let block_on = self.describe(target, &stack, tasks, &mut thread);
            let again = target.thread(tid)?;
            if again == sample {
                return Some(Sampled::known(thread, registers, block_on));
            }
            sample = again;
        }
        Some(Sampled {
            known: Known {
                thread: plain(process, &sample),
                registers: None,
                block_on: Vec::new(),
            },
            is_unknown: sample.state == ThreadState::Unknown,
        })
    }

    /// A thread that was stopped for a moment. `target` has the stack of that moment.
    fn interrupted(
        &mut self,
        target: &WithStack<'_>,
        process: ProcessId,
        tasks: &[PollableTask],
        sample: &ThreadSample,
        registers: &Registers,
    ) -> Sampled {
        let stack = self.unwinder.unwind(target, registers);
        let mut thread = plain(process, sample);
        self.describe(target, &stack, tasks, &mut thread);
        Sampled {
            known: Known {
                thread,
                registers: None,
                block_on: Vec::new(),
            },
            is_unknown: false,
        }
    }

    /// Adds what the stack says. Returns the frames of `block_on` if the thread is parked there.
    fn describe(
        &mut self,
        target: &dyn Target,
        stack: &Stack,
        tasks: &[PollableTask],
        thread: &mut InspectedThread,
    ) -> Vec<StackFrame> {
        let functions = stack.frames.iter().map(|frame| self.marks.of(frame));
        let functions: Vec<_> = functions.collect();
        let marks: Vec<_> = functions.iter().map(|of| of.marks.clone()).collect();
        let activity = RuntimeActivity::of(&marks);
        let poll = &stack.frames[activity.poll.clone()];
        thread.polls = polled::task(target, poll, tasks);
        thread.role = activity.role;
        if let (ThreadRole::Polling, [frame, ..]) = (activity.role, poll) {
            let polls = &functions[activity.poll.clone()];
            // These functions are generic, so they are compiled with the program, and have debug info if the program
            // has.
            let has_inlined = polls.iter().any(|functions| functions.has_inlined);
            if !activity.has_loop && thread.polls.is_none() {
                // The blocking pool polls its closures like tasks.
                thread.role = ThreadRole::Other;
            } else if !activity.has_loop && is_of_blocking_pool(&thread.name) {
                thread.role = ThreadRole::Blocking;
            } else if !has_inlined && self.block_in_place.may_be_linked(target, frame.address) {
                // `block_in_place` may have been inlined. Then the thread may no longer be a worker.
                thread.role = ThreadRole::Worker;
                self.has_doubtful_worker = true;
            }
        }
        let frames = stack.frames.iter().enumerate();
        thread.addresses = frames
            .map(|(at, frame)| frame.recorded_address(at == 0))
            .collect();
        thread.is_whole = stack.is_whole;
        let roles: Vec<_> = functions.into_iter().map(|of| of.block_on).collect();
        stack.frames[block_on_frames(&roles)].to_vec()
    }
}

/// A thread, as this inspection found it.
struct Sampled {
    known: Known,
    /// The kernel does not say whether the thread is blocked.
    is_unknown: bool,
}

impl Sampled {
    fn known(thread: InspectedThread, registers: &Registers, block_on: Vec<StackFrame>) -> Self {
        let registers = Some(Box::new(registers.clone()));
        Sampled {
            known: Known {
                thread,
                registers,
                block_on,
            },
            is_unknown: false,
        }
    }
}

impl Known {
    /// Whether the thread has been blocked all the time since.
    fn has_not_moved(&self, sample: &ThreadSample, registers: &Registers) -> bool {
        self.thread.switches == sample.switches && self.registers.as_deref() == Some(registers)
    }

    /// Whether the thread has been blocked all the time since, and another reading would find nothing new.
    fn is_still(&self, sample: &ThreadSample, registers: &Registers) -> bool {
        let lacks_task = self.thread.role == ThreadRole::Polling && self.thread.polls.is_none();
        self.has_not_moved(sample, registers) && self.thread.name == sample.name && !lacks_task
    }
}

/// Whether the name of a thread is as in smol's pool of blocking threads. The loop of these threads is usually inlined,
/// so that no name of a function is left without debug info.
fn is_of_blocking_pool(name: &str) -> bool {
    let number = name.strip_prefix("blocking-");
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

fn syscall_name(registers: &Registers, number: Option<u32>) -> String {
    let name = number.map(|number| syscall_names::name(registers.processor, number));
    name.unwrap_or_default().to_owned()
}

/// What is known of a thread without its stack.
fn plain(process: ProcessId, sample: &ThreadSample) -> InspectedThread {
    InspectedThread {
        process,
        tid: sample.tid,
        name: sample.name.clone(),
        switches: sample.switches,
        is_running: matches!(
            sample.state,
            ThreadState::Running | ThreadState::Interrupted { .. }
        ),
        ..InspectedThread::default()
    }
}

fn gap_of_many(threads: usize) -> Option<String> {
    let left = threads.checked_sub(MAX_THREADS).filter(|left| *left != 0)?;
    Some(format!("{left} of {threads} threads were not inspected."))
}

fn uncertain_worker(has_doubtful_worker: bool) -> Option<String> {
    has_doubtful_worker.then(|| {
        "Whether blocked threads still are workers is unknown, because the program may \
         call block_in_place; build with debug = 1 to see."
            .to_owned()
    })
}

fn gap_of_unknown(threads: usize) -> Option<String> {
    (threads != 0)
        .then(|| format!("The kernel does not say where threads are blocked ({threads} of them)."))
}
