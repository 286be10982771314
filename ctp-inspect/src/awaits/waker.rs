//! Finds the waker of a task that a future has registered.

use super::search::find;
use super::view::{TargetView, TypedValue, part};
use crate::types::layout::TypeKind;

/// What a waker wakes: the owner of the future that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WakerOwner {
    /// The task with this header.
    Task(u64),
    /// An entry of a set of futures. When the entry is woken, the set wakes the task.
    Set(u64),
    /// A thread in `block_on`, or what polls a boxed future. Its wakers are not known, so any waker counts.
    Unknown,
}

impl WakerOwner {
    /// Whether a waker with this data leads to the owner, as far as known.
    pub(super) fn is_woken_by(self, data: u64) -> bool {
        match self {
            WakerOwner::Task(own) | WakerOwner::Set(own) => data == own,
            WakerOwner::Unknown => true,
        }
    }
}

/// Whether and where a future has registered a waker of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registered {
    No,
    /// A waker that holds the address of the task in the word at this address.
    At(u64),
    /// A waker at an unknown address.
    Somewhere,
}

impl Registered {
    pub(super) fn is_some(self) -> bool {
        self != Registered::No
    }
}

/// Maximum depth of types between an `Option<Waker>` and its `RawWaker`.
const MAX_DEPTH: u32 = 8;

/// The waker of this owner in an `Option<Waker>`, or in a type around it. `None` if the value holds another waker, which
/// may wake the owner indirectly, or if the memory cannot be read.
pub(super) fn registered_waker(
    view: &TargetView<'_>,
    value: TypedValue,
    owner: WakerOwner,
) -> Option<Registered> {
    let raw = raw_waker(view, value, 0)?;
    let vtable = view.pages.word(view.member(raw, "vtable")?.address)?;
    if vtable == 0 {
        return Some(Registered::No);
    }
    let data = view.member(raw, "data")?.address;
    let is_own = owner.is_woken_by(view.pages.word(data)?);
    is_own.then_some(Registered::At(data))
}

/// The waker of this owner in the `AtomicWaker` in a value. `None` also while the waker is replaced.
pub(super) fn atomic_waker(
    view: &TargetView<'_>,
    value: TypedValue,
    owner: WakerOwner,
) -> Option<Registered> {
    let found = find(view, value, "::AtomicWaker", 0)?;
    let Some(waker) = found.first() else {
        return Some(Registered::No);
    };
    let is_settled = view.number(view.member(*waker, "state")?)? == 0;
    let waker = view.member(*waker, "waker").filter(|_| is_settled)?;
    registered_waker(view, waker, owner)
}

/// The `RawWaker` in a value. In an `Option<Waker>`, its address does not depend on the variant.
fn raw_waker(view: &TargetView<'_>, value: TypedValue, depth: u32) -> Option<TypedValue> {
    let layout = view.layout(value).filter(|_| depth < MAX_DEPTH)?;
    if layout.path == "core::task::wake::RawWaker" {
        return Some(value);
    }
    let members: Vec<_> = match &layout.kind {
        TypeKind::Struct(members) => members.iter().collect(),
        TypeKind::Union(_) => layout.member("value").into_iter().collect(),
        TypeKind::Enum(of) => of.variants.iter().map(|variant| &variant.member).collect(),
        _ => return None,
    };
    let mut parts = members.into_iter().filter_map(|member| part(value, member));
    parts.find_map(|part| raw_waker(view, part, depth + 1))
}
