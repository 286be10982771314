//! Finds and reads the future that a thread polls in `block_on`.
//!
//! `block_on` keeps the future on its own stack or in a box, and polls the future by a pinned reference. The debug info
//! says where that reference is. In optimised programs, the debug info may give a place only for another address of
//! the function, or only for the future before it was moved. A future at such a place counts only if it leads to a
//! registered waker. A copy from before the first poll does not, and neither does memory that is used for something
//! else.

use ctp_trace::record::TaskId;

use super::branch::is_future;
use super::pages::Pages;
use super::view::{TargetView, TypedValue};
use super::waker::WakerOwner;
use super::{AwaitReader, TaskAwaits};
use crate::stacks::StackFrame;
use crate::target::Target;
use crate::types::TypeRef;
use crate::types::frame_variable::FrameVariable;
use crate::types::layout::TypeKind;
use crate::types::variable_place::VariablePlace;

/// The future of a thread that is parked in `block_on`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootFuture {
    /// Where the future is.
    pub address: u64,
    /// Size of the future in bytes.
    pub size_bytes: u64,
    /// What the future waits for and holds. Which wakers lead to the thread is unknown, so no wakers are listed.
    pub awaits: TaskAwaits,
}

/// A value that may be the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RootCandidate {
    future: TypedValue,
    /// A pinned reference that exists now leads to the value.
    is_pinned: bool,
}

impl AwaitReader {
    /// Reads the future that `block_on` keeps in these frames, innermost first. `tasks` returns the task with its
    /// header at an address.
    ///
    /// `None` if no variable of `block_on` is or leads to the future, or if the future changes while it is read.
    pub fn read_block_on(
        &self,
        frames: &[StackFrame],
        target: &dyn Target,
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> Option<RootFuture> {
        let pages = Pages::of(target, &self.pages);
        let view = self.view(&pages);
        let mut candidates = frames
            .iter()
            .flat_map(|frame| self.candidates(&view, target, frame));
        let (future, mut awaits) = candidates.find_map(|candidate| {
            let found = self.walk(&view, candidate.future, (WakerOwner::Unknown, None), tasks);
            let is_found = candidate.is_pinned || has_waker(&found);
            is_found.then_some((candidate.future, found))
        })?;
        awaits.wakers.clear();
        let size_bytes = view.layout(future)?.size;
        pages
            .is_unchanged(future.address, size_bytes)
            .then_some(RootFuture {
                address: future.address,
                size_bytes,
                awaits,
            })
    }

    /// The variables of a function that are or lead to a value that may be the future, the most likely first.
    fn candidates(
        &self,
        view: &TargetView<'_>,
        target: &dyn Target,
        frame: &StackFrame,
    ) -> Vec<RootCandidate> {
        let variables = self.types.variables_of(target, frame).into_iter();
        let mut candidates = Vec::new();
        for candidate in variables.filter_map(|variable| candidate(view, &variable)) {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        candidates
    }
}

/// A variable as a future, or as a pinned reference to a future.
fn candidate(view: &TargetView<'_>, variable: &FrameVariable<TypeRef>) -> Option<RootCandidate> {
    let pinned = pinned_type(view, variable.of);
    let (of, address) = match (pinned, variable.place) {
        (Some(of), VariablePlace::Memory(address)) => (of, view.pages.word(address)?),
        (Some(of), VariablePlace::Value(address)) => (of, address),
        (None, VariablePlace::Memory(address)) => (variable.of, address),
        (None, VariablePlace::Value(_)) => return None,
    };
    let is_pinned = pinned.is_some() && variable.is_in_scope;
    let future = TypedValue { of, address };
    let is_future = address != 0 && is_future(view, of, 0);
    is_future.then_some(RootCandidate { future, is_pinned })
}

fn has_waker(found: &TaskAwaits) -> bool {
    found.waits.iter().any(|wait| wait.has_waker == Some(true))
}

/// The type `F` of a `Pin<&mut F>`.
fn pinned_type(view: &TargetView<'_>, of: TypeRef) -> Option<TypeRef> {
    let pin = view
        .types
        .layout(of)
        .filter(|of| of.path == "core::pin::Pin")?;
    let pointer = view.types.layout(pin.members().first()?.of)?;
    match pointer.kind {
        TypeKind::Pointer(to) if pointer.name.starts_with("&mut ") => to,
        _ => None,
    }
}
