//! [`CppFinder`]: finds the frames of C++20 coroutines that gcc and clang compiled.
//!
//! A frame begins with the addresses of two functions, which resume and destroy the coroutine. The steps:
//!
//! 1. [`functions`]: symbols say which functions these are.
//! 2. [`candidates`]: a pass over memory finds such pairs of words.
//! 3. [`glibc_heap`](crate::glibc_heap): the allocator's own data says whether the memory of a candidate is in use.
//! 4. [`live`]: which candidates are frames that live, and which only may be.
//! 5. [`chains`]: the promise of a frame has the address of the frame that awaits it.

pub mod candidates;
pub mod chains;
pub mod frame_types;
pub mod functions;
pub mod live;

mod unnamed;

use ctp_trace::record::{AwaitFrame, TaskKind, TaskState};
use symbolize::SearchPaths;

use crate::cpp::chains::{Chain, Chains};
use crate::cpp::frame_types::FrameTypes;
use crate::cpp::functions::CoroutineFunctions;
use crate::cpp::live::{LiveFrame, LiveFrames};
use crate::finder::{Finder, FoundTask, FoundTasks, TaskLayout};
use crate::glibc_heap::Heaps;
use crate::scan::{Scan, WritableMemory};
use crate::stack_ranges::StackRanges;
use crate::target::Target;

/// At most this many bytes of writable memory are searched.
const MAX_BYTES: u64 = 16 << 30;

/// Finds the frames of C++20 coroutines.
pub struct CppFinder {
    functions: CoroutineFunctions,
    types: FrameTypes,
    scan: Scan,
    /// How many objects look like frames although the program has no coroutines according to its symbols.
    unnamed: usize,
}

impl CppFinder {
    /// Reads symbols and lines from files in `search_paths`.
    pub fn new(search_paths: SearchPaths) -> Self {
        CppFinder {
            functions: CoroutineFunctions::new(search_paths.clone()),
            types: FrameTypes::new(search_paths),
            scan: Scan::default(),
            unnamed: 0,
        }
    }

    /// A coroutine with the coroutines that it awaits, or a coroutine that has run to its end.
    fn task(&self, target: &dyn Target, chain: &Chain, live: &LiveFrames) -> FoundTask {
        let outermost = &live.frames[chain.outermost()];
        let frames = chain.members.iter().map(|(depth, index)| {
            let frame = &live.frames[*index];
            self.await_frame(target, *depth, frame)
        });
        let frames = frames.collect();
        FoundTask {
            address: outermost.address,
            kind: TaskKind::Cpp,
            state: state(outermost),
            name: self.functions.name(outermost.words),
            frames,
            may_be_freed: !outermost.is_certain,
            layout: TaskLayout {
                identity: outermost.words[1],
                size_bytes: outermost.size_bytes,
                ..TaskLayout::default()
            },
            ..FoundTask::default()
        }
    }
}

impl CppFinder {
    /// What a program without known coroutines has. It is searched only if its modules `are_new`.
    fn find_unnamed(&mut self, target: &dyn Target, are_new: bool) -> FoundTasks {
        if are_new {
            let memory = WritableMemory::of(target, MAX_BYTES);
            self.unnamed = unnamed::count(target, &mut self.scan, &memory);
        }
        let unnamed = self.unnamed;
        let gap = format!(
            "{unnamed} objects look like frames of C++20 coroutines, but no symbols name their functions: a program that \
             was stripped has none"
        );
        FoundTasks {
            gaps: (0 < unnamed).then_some(gap).into_iter().collect(),
            ..FoundTasks::default()
        }
    }

    /// A frame with the line at which it is suspended, or else the line that declares the coroutine.
    fn await_frame(&self, target: &dyn Target, depth: u32, frame: &LiveFrame) -> AwaitFrame {
        let coroutine = &self.functions.coroutines[frame.coroutine];
        let of_type = self.types.of(coroutine);
        let suspended = of_type.filter(|_| !frame.is_finished);
        let suspension = suspended.and_then(|of| of.suspension(target, frame.address, coroutine));
        let place = of_type.and_then(|of| of.place(suspension));
        let (file, line) = place.cloned().unwrap_or_default();
        AwaitFrame {
            depth,
            name: self.functions.name(frame.words),
            file,
            line,
            suspension: suspension
                .and_then(|number| u32::try_from(number).ok())
                .unwrap_or(0),
            ..AwaitFrame::default()
        }
    }
}

impl Finder for CppFinder {
    fn find(&mut self, target: &dyn Target, stacks: &StackRanges) -> FoundTasks {
        let is_new = self.functions.refresh(target);
        if is_new {
            self.types.forget();
        }
        if self.functions.coroutines.is_empty() {
            return self.find_unnamed(target, is_new);
        }
        let memory = WritableMemory::of(target, MAX_BYTES);
        let candidates = candidates::find(target, &mut self.scan, &memory, &self.functions);
        let heaps = Heaps::of(target);
        let live = live::judge(target, stacks, &heaps, &candidates);
        if !live.frames.is_empty() {
            self.types.read(target, &self.functions);
        }
        let chains = Chains::of(target, &live, (&self.functions, &self.types));
        let chains = chains.iter();
        let tasks: Vec<_> = chains
            .map(|chain| self.task(target, chain, &live))
            .collect();
        let mut gaps = live.gaps(&heaps);
        if 0 < memory.skipped {
            gaps.push(format!(
                "{} MiB of memory were not searched for C++20 coroutines, because there is more than {} MiB",
                memory.skipped >> 20,
                MAX_BYTES >> 20
            ));
        }
        FoundTasks {
            runtimes: runtimes(&tasks),
            tasks,
            gaps,
        }
    }
}

fn state(frame: &LiveFrame) -> TaskState {
    if frame.is_finished {
        TaskState::Finished
    } else {
        TaskState::Idle
    }
}

fn runtimes(tasks: &[FoundTask]) -> Vec<String> {
    if tasks.is_empty() {
        return Vec::new();
    }
    vec!["C++20 coroutines".to_owned()]
}
