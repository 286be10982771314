//! The coroutine that stands for a span.

use std::thread::{self, ThreadId};

use ctp_nostd::call_site::ForeignLine;
use ctp_nostd::{Kind, Task, Wait, WaitKind};

/// The coroutine of a span. It runs on one thread at a time: while a thread is in the span, other threads that
/// enter the same span are ignored.
#[derive(Debug)]
pub struct SpanTask {
    task: Task,
    line: ForeignLine,
    /// The span of `tracing` inside which this span was created.
    parent: Option<u64>,
    /// The thread that is in the span, and how often it has entered it.
    entered: Option<(ThreadId, u32)>,
}

impl SpanTask {
    /// Records a birth.
    pub fn born(name: &str, line: ForeignLine, parent: Option<u64>) -> Self {
        SpanTask {
            task: Task::born_as(name, Kind::Unknown, line),
            line,
            parent,
            entered: None,
        }
    }

    /// The id of the coroutine in a wait for it.
    pub fn id(&self) -> u64 {
        self.task.id()
    }

    /// The span of `tracing` inside which this span was created, if any.
    pub fn parent(&self) -> Option<u64> {
        self.parent
    }

    /// Records a run, if no thread was in the span. Returns whether that was so.
    pub fn enter(&mut self) -> bool {
        let this_thread = thread::current().id();
        match &mut self.entered {
            Some((thread, depth)) => {
                *depth += u32::from(*thread == this_thread);
                false
            }
            None => {
                self.entered = Some((this_thread, 1));
                self.task.run();
                true
            }
        }
    }

    /// Notes that this thread exits the span. Returns whether the thread is out of the span now, so that
    /// [`suspend`](Self::suspend) must follow.
    pub fn exit(&mut self) -> bool {
        let this_thread = thread::current().id();
        let Some((_, depth)) = self
            .entered
            .as_mut()
            .filter(|(thread, _)| *thread == this_thread)
        else {
            return false;
        };
        *depth -= 1;
        let is_out = *depth == 0;
        if is_out {
            self.entered = None;
        }
        is_out
    }

    /// Records the death, as that of a coroutine that runs. A future that is dropped enters its span too, so a
    /// cancelled future looks like a future that has completed.
    pub fn close(self) {
        self.task.run();
    }

    /// Records a wait for another coroutine, or for something unknown.
    pub fn suspend(&self, awaited: Option<u64>) {
        let (kind, resource) = match awaited {
            Some(id) => (WaitKind::Coroutine, id),
            None => (WaitKind::Unknown, 0),
        };
        self.task
            .suspend(Wait::of_code(kind as u8, resource, self.line));
    }
}
