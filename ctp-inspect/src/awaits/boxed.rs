//! Reads boxed futures (`dyn Future`). The vtable next to the address of such a future determines its type.

use ctp_trace::record::TaskId;

use super::branch::future_parts;
use super::known::{Known, is_body, known};
use super::pages::Pages;
use super::plausible::is_plausible;
use super::view::{TargetView, TypedValue};
use super::waker::WakerOwner;
use super::{AwaitReader, MAX_READINGS, MAX_WRAPPERS, TaskAwaits, shown};
use crate::target::Target;
use crate::types::StaticVariable;

/// What the memory of a boxed future says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxedFuture {
    /// Whether the future was never polled, waits, or has ended.
    pub state: BoxedState,
    /// What the future waits for and holds. The wakers are those of an unknown owner, so none are listed.
    pub awaits: TaskAwaits,
}

/// How far a boxed future has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxedState {
    /// The future waits, or its type has no known state.
    #[default]
    Suspended,
    /// The future was never polled.
    NotStarted,
    /// The future has returned or panicked, and was not dropped.
    Finished,
}

impl AwaitReader {
    /// The vtables for `dyn Future` in the module that has data at `address`, and whether the module has debug info.
    pub fn future_vtables(&self, target: &dyn Target, address: u64) -> (Vec<u64>, bool) {
        self.types.future_vtables(target, address)
    }

    /// The static variable that contains this address.
    pub fn static_at(&self, target: &dyn Target, address: u64) -> Option<StaticVariable> {
        self.types.static_at(target, address)
    }

    /// Whether the memory at `address` can be a future of the type with this vtable. This is usually false for memory
    /// that was freed and reused, and true if the type is unknown.
    pub fn may_be_future(&self, target: &dyn Target, address: u64, vtable: u64) -> bool {
        let Some(of) = self.types.of_vtable(target, vtable) else {
            return true;
        };
        (0..MAX_READINGS).any(|_| {
            let pages = Pages::of(target, &self.pages);
            is_plausible(&self.view(&pages), TypedValue { of, address })
        })
    }

    /// Reads the boxed future with this address and vtable. `tasks` returns the task with its header at an address.
    ///
    /// The result has only a gap if the type of the future is unknown or ambiguous, or if the future keeps changing.
    pub fn read_boxed(
        &self,
        (address, vtable): (u64, u64),
        target: &dyn Target,
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> BoxedFuture {
        let Some(of) = self.types.of_vtable(target, vtable) else {
            return BoxedFuture {
                awaits: TaskAwaits::gap("the vtable of a boxed future is that of several types"),
                ..BoxedFuture::default()
            };
        };
        let future = TypedValue { of, address };
        for _ in 0..MAX_READINGS {
            let pages = Pages::of(target, &self.pages);
            let view = self.view(&pages);
            let state = state(&view, future);
            let mut awaits = self.walk(&view, future, (WakerOwner::Unknown, None), tasks);
            awaits.wakers.clear();
            let size = view.layout(future).map_or(0, |of| of.size);
            if pages.is_unchanged(address, size) {
                return BoxedFuture { state, awaits };
            }
        }
        let of = self.types.layout(of);
        BoxedFuture {
            awaits: TaskAwaits {
                name: of.map_or_else(String::new, |of| shown(&of)),
                ..TaskAwaits::gap("a boxed future changed while it was read")
            },
            ..BoxedFuture::default()
        }
    }
}

/// The state of a future: that of the async function or block that it is, or that it wraps.
fn state(view: &TargetView<'_>, future: TypedValue) -> BoxedState {
    match body(view, future).and_then(|body| view.variant_name(body)) {
        Some((name, _)) if name == "Unresumed" => BoxedState::NotStarted,
        Some((name, _)) if name == "Returned" || name == "Panicked" => BoxedState::Finished,
        _ => BoxedState::Suspended,
    }
}

/// The body of the async function or block that a future is, or that it wraps.
fn body(view: &TargetView<'_>, future: TypedValue) -> Option<TypedValue> {
    let mut next = view.unwrapped(future);
    for _ in 0..MAX_WRAPPERS {
        let layout = view.layout(next)?;
        if is_body(&layout.path) {
            return Some(next);
        }
        let inner = match known(&layout.path) {
            Some(Known::Around(member)) => view.member(next, member)?,
            Some(Known::Wrapper) => only_part(view, next)?,
            _ if layout.path == "core::option::Option" => only_part(view, next)?,
            _ => return None,
        };
        next = view.unwrapped(inner);
    }
    None
}

/// The future in a wrapper, if there is exactly one.
fn only_part(view: &TargetView<'_>, wrapper: TypedValue) -> Option<TypedValue> {
    match future_parts(view, wrapper)?[..] {
        [inner] => Some(inner),
        _ => None,
    }
}
