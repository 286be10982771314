//! [`AwaitReader`]: what each task awaits, and which locks it holds, read from its future.
//!
//! The debug info has the layout of every future. The memory of a future says which `.await` the future has reached,
//! and contains the future that is awaited there. The chain ends at a future of a library, such as a timer.
//!
//! Every reported fact is certain; uncertain facts are left out. If a search ends early, [`gaps`](TaskAwaits::gaps)
//! says so.

mod account;
mod boxed;
mod branch;
mod facts;
mod guard;
mod held_boxes;
mod known;
mod leaf;
mod own;
mod pages;
mod plausible;
mod root;
mod search;
mod set;
mod task;
mod view;
mod waker;
mod wakers;
mod walk;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use ctp_trace::record::{AwaitFrame, HeldLock, Resource, TaskId, TaskWait};
use symbolize::SearchPaths;

use crate::target::Target;
use crate::types::layout::Type;
use crate::types::{StaticVariable, TypeRef, Types};
use facts::TypeFacts;
use known::{Known, known};
use leaf::Awaited;
use pages::{PagePool, Pages};
use view::{TargetView, TypedValue};
use waker::{Registered, WakerOwner};
use walk::AwaitWalk;

pub use boxed::{BoxedFuture, BoxedState};
pub use held_boxes::FutureMemory;
pub use root::RootFuture;
pub use task::{StoredTask, TaskFuture};

/// Reads the await stacks of tasks.
pub struct AwaitReader {
    types: Types,
    /// The descriptors that epoll watches, by the registered value.
    descriptors: RefCell<HashMap<u64, u32>>,
    facts: TypeFacts,
    pages: PagePool,
}

/// What the future of a task says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskAwaits {
    /// The future, as the user wrote it; empty if unknown.
    pub name: String,
    /// The functions that await each other, outermost first.
    pub frames: Vec<AwaitFrame>,
    /// What the innermost futures wait for.
    pub waits: Vec<TaskWait>,
    /// The wakers of the task that the innermost futures have registered.
    pub wakers: Vec<RegisteredWaker>,
    /// The locks that the task holds.
    pub holds: Vec<HeldLock>,
    /// The memory of the futures that are polled whenever the task is. `None` if the task's futures were not followed.
    pub polled: Option<Vec<Range<u64>>>,
    /// Sentences about what could not be read.
    pub gaps: Vec<String>,
}

/// A waker of a task that a future has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredWaker {
    /// What the future waits for.
    pub resource: Resource,
    /// The address of the waker's word that holds the address of the task, if known.
    pub at: Option<u64>,
    /// Only the task itself can use the resource.
    pub is_own: bool,
    /// Only the task itself can use the resource if these are its only handles. There may be others: a sender, for
    /// example, may have been moved out of the task.
    pub own_if_unshared: Option<Handles>,
}

/// Handles of a counted value that a task seems to own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handles {
    /// The memory of the value and its counts.
    pub value: Range<u64>,
    /// The addresses of the handles.
    pub at: Vec<u64>,
}

impl RegisteredWaker {
    /// The waker of a future, if one is known.
    fn of(awaited: &Awaited) -> Option<Self> {
        let at = match awaited.waker? {
            Registered::No => return None,
            Registered::At(at) => Some(at),
            Registered::Somewhere => None,
        };
        Some(RegisteredWaker {
            resource: awaited.resource,
            at,
            is_own: false,
            own_if_unshared: None,
        })
    }
}

/// The maximum number of wrappers around the future of a task.
const MAX_WRAPPERS: usize = 8;
/// How many times a future is read if it changes during each reading.
const MAX_READINGS: u32 = 3;

impl AwaitReader {
    /// Reads debug info from files in `search_paths`. Opens none yet.
    pub fn new(search_paths: SearchPaths) -> Self {
        Self {
            types: Types::new(search_paths),
            descriptors: RefCell::default(),
            facts: TypeFacts::default(),
            pages: PagePool::default(),
        }
    }

    /// Begins an inspection. Reads now which descriptors epoll watches.
    pub fn begin(&self, target: &dyn Target) {
        self.types.forget_addresses();
        let interests = target.epoll_interests().into_iter();
        let descriptors = interests.map(|interest| (interest.data, interest.fd));
        self.descriptors.replace(descriptors.collect());
    }

    /// The vtables for `dyn Future` in the module that has data at `address`. `None` if the module has no debug info.
    pub fn future_vtables(&self, target: &dyn Target, address: u64) -> Option<Vec<u64>> {
        self.types.future_vtables(target, address)
    }

    /// The static variable that contains this address.
    pub fn static_at(&self, target: &dyn Target, address: u64) -> Option<StaticVariable> {
        self.types.static_at(target, address)
    }

    /// Reads the future of a task. `tasks` returns the task with its header at an address.
    ///
    /// The result is empty if the type of the future is unknown. The result is only a name if a thread polls the task, or
    /// if the task has ended.
    /// The result is only a gap if the future keeps changing, or if equal functions of several futures were merged.
    pub fn read_task(
        &self,
        task: TaskFuture,
        target: &dyn Target,
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> TaskAwaits {
        let types = self.types.task_types(target, task.poll);
        let of = match *types {
            [] => return TaskAwaits::default(),
            [of] => of,
            _ => return TaskAwaits::gap("equal functions of several futures were merged"),
        };
        for _ in 0..MAX_READINGS {
            let pages = Pages::of(target, &self.pages);
            if !task.is_suspended(&pages) {
                return TaskAwaits {
                    name: self.name_of(of),
                    ..TaskAwaits::default()
                };
            }
            let view = self.view(&pages);
            let found = self.read(&view, task, of, tasks);
            if pages.is_unchanged(task.header, task.size_bytes(&view, of)) {
                return found;
            }
        }
        TaskAwaits::gap("a future changed while it was read")
    }

    /// The name of the future of a type of tasks. Wrappers around the future are left out.
    fn name_of(&self, task: TypeRef) -> String {
        let mut next = self.first_parameter(task);
        for _ in 0..MAX_WRAPPERS {
            let Some(of) = next.and_then(|of| self.types.layout(of)) else {
                break;
            };
            if !is_wrapper(&of.path) {
                return shown(&of);
            }
            next = next.and_then(|of| self.first_parameter(of));
        }
        String::new()
    }

    fn first_parameter(&self, of: TypeRef) -> Option<TypeRef> {
        self.types.layout(of)?.parameters.first().copied()
    }

    /// Sentences about why stacks are missing.
    pub fn gaps(&self) -> Vec<String> {
        self.types.gaps()
    }

    fn read(
        &self,
        view: &TargetView<'_>,
        task: TaskFuture,
        of: TypeRef,
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> TaskAwaits {
        let Some(future) = task.future(view, of) else {
            return TaskAwaits::gap("the memory of a task is not as its type says");
        };
        let owner = (WakerOwner::Task(task.header), task.wakers(view.pages));
        self.walk(view, future, owner, tasks)
    }

    /// Follows a future from the outermost function to the innermost ones. `owner` is what the wakers lead to, and an
    /// upper limit of their number; `None` if that is unknown.
    fn walk(
        &self,
        view: &TargetView<'_>,
        future: TypedValue,
        owner: (WakerOwner, Option<u32>),
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> TaskAwaits {
        let descriptors = self.descriptors.borrow();
        let mut found = AwaitWalk::new(view, owner, tasks, &descriptors).run(future);
        if found.name.is_empty() {
            found.name = view
                .layout(future)
                .map_or_else(String::new, |of| shown(&of));
        }
        found
    }

    fn view<'v>(&'v self, pages: &'v Pages<'v>) -> TargetView<'v> {
        TargetView {
            types: &self.types,
            pages,
            facts: &self.facts,
        }
    }
}

impl TaskAwaits {
    fn gap(sentence: &str) -> Self {
        Self {
            gaps: vec![sentence.to_owned()],
            ..Self::default()
        }
    }
}

/// Whether the first generic parameter of a type with this path is the future of interest.
fn is_wrapper(path: &str) -> bool {
    let is_box = matches!(path, "core::pin::Pin" | "alloc::boxed::Box");
    is_box || matches!(known(path), Some(Known::Wrapper | Known::Around(_)))
}

/// The name of a future as the user wrote it.
fn shown(of: &Type) -> String {
    let known = of.shown.get_or_init(|| {
        let path = symbolize::tidy(&of.path);
        let parts = path.split("::").filter(|part| !part.starts_with("{impl#"));
        parts.collect::<Vec<_>>().join("::")
    });
    known.clone()
}

/// A value that was visited: its type and its address.
type Met = (TypeRef, u64);
