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

/// What the memory of a boxed future says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoxedFuture {
    /// Whether the future was never polled, waits, or has ended.
    pub state: BoxedState,
    /// What the future waits for and holds. Has no wakers: which task they wake is not known.
    pub awaits: TaskAwaits,
}

/// How far a boxed future has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoxedState {
    /// The future changes all the time, or its type is unknown or has no known state.
    #[default]
    Unknown,
    /// The future waits.
    Suspended,
    /// The future was never polled.
    NotStarted,
    /// The future has returned or panicked, and was not dropped.
    Finished,
}

impl AwaitReader {
    /// Whether the memory at `address` can be a future of the type with this vtable. Returns false for most memory that
    /// was freed and reused, and true if the type is unknown.
    pub fn may_be_future(&self, target: &dyn Target, address: u64, vtable: u64) -> bool {
        let Some(of) = self.types.of_vtable(target, vtable) else {
            return true;
        };
        // The future may change during a reading.
        (0..MAX_READINGS).any(|_| {
            let pages = Pages::of(target, &self.pages);
            is_plausible(&self.view(&pages), TypedValue { of, address })
        })
    }

    /// Reads the boxed future with this address and vtable. `tasks` returns the task with its header at an address.
    ///
    /// If the type of the future is unknown or ambiguous, the result has a gap and nothing else. If the future keeps
    /// changing, the result has a gap and the name.
    pub fn read_boxed(
        &self,
        target: &dyn Target,
        address: u64,
        vtable: u64,
        tasks: &dyn Fn(u64) -> Option<TaskId>,
    ) -> BoxedFuture {
        let Some(type_ref) = self.types.of_vtable(target, vtable) else {
            return BoxedFuture {
                awaits: TaskAwaits::gap(
                    "the type of a boxed future is unknown, or several types share its vtable",
                ),
                ..BoxedFuture::default()
            };
        };
        let future = TypedValue {
            of: type_ref,
            address,
        };
        for _ in 0..MAX_READINGS {
            let pages = Pages::of(target, &self.pages);
            let view = self.view(&pages);
            let state = state_of(&view, future);
            let mut awaits = self.walk(&view, future, (WakerOwner::Unknown, None), tasks);
            awaits.wakers.clear();
            let size = view.layout(future).map_or(0, |layout| layout.size);
            if pages.is_unchanged(address, size) {
                return BoxedFuture { state, awaits };
            }
        }
        let layout = self.types.layout(type_ref);
        BoxedFuture {
            awaits: TaskAwaits {
                name: layout.map_or_else(String::new, |layout| shown(&layout)),
                ..TaskAwaits::gap("a boxed future changed while it was read")
            },
            ..BoxedFuture::default()
        }
    }
}

/// The state of a future: that of the async function or block that it is, or that it wraps.
fn state_of(view: &TargetView<'_>, future: TypedValue) -> BoxedState {
    let state = body_of(view, future).and_then(|body| view.variant_name(body));
    match state.as_ref().map(|(name, _)| name.as_str()) {
        Some("Unresumed") => BoxedState::NotStarted,
        Some("Returned" | "Panicked") => BoxedState::Finished,
        Some(name) if name.starts_with("Suspend") => BoxedState::Suspended,
        _ => BoxedState::Unknown,
    }
}

/// The body of the async function or block that a future is, or that it wraps.
fn body_of(view: &TargetView<'_>, future: TypedValue) -> Option<TypedValue> {
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
