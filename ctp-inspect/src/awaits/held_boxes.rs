//! Decides from the types of a future whether an address in its memory can be that of a box.
//!
//! A search of memory also finds boxes of the past: a part of the future that its present state does not use may still
//! have the two words of an earlier box.

use super::known::is_body;
use super::pages::Pages;
use super::view::{TargetView, TypedValue, part};
use super::{AwaitReader, TaskFuture};
use crate::target::Target;
use crate::types::layout::{Member, Type, TypeKind};

/// The maximum depth of nested types.
const MAX_DEPTH: u32 = 64;

/// The future whose memory is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutureMemory {
    /// The future of a task.
    Task(TaskFuture),
    /// A boxed future: its address, and that of its vtable.
    Boxed(u64, u64),
}

impl AwaitReader {
    /// Whether a future may have a box at the address `at` in its memory. True if the types do not say that, and while a
    /// thread polls the future's task.
    pub fn may_hold_box(&self, target: &dyn Target, memory: FutureMemory, at: u64) -> bool {
        let pages = Pages::of(target, &self.pages);
        let view = self.view(&pages);
        let future = match memory {
            FutureMemory::Boxed(address, vtable) => {
                let of = self.types.of_vtable(target, vtable);
                of.map(|of| TypedValue { of, address })
            }
            FutureMemory::Task(task) => match *self.types.task_types(target, task.poll) {
                [of] if task.is_suspended(&pages) => task.future(&view, of),
                _ => None,
            },
        };
        future.is_none_or(|future| may_hold(&view, future, at, 0))
    }
}

/// Whether a value may have a box at the address `at`.
fn may_hold(view: &TargetView<'_>, value: TypedValue, at: u64, depth: u32) -> bool {
    let Some(layout) = view.layout(value).filter(|_| depth < MAX_DEPTH) else {
        return true;
    };
    if let (Some(pointer), Some(_)) = (layout.member("pointer"), layout.member("vtable")) {
        return part(value, pointer).is_some_and(|pointer| pointer.address == at);
    }
    match &layout.kind {
        TypeKind::Struct(members) => any_holds(view, value, members, at, depth),
        TypeKind::Enum(_) => variant_holds(view, value, &layout, at, depth),
        TypeKind::Union(_) | TypeKind::Array(..) => true,
        TypeKind::Scalar | TypeKind::Pointer(_) | TypeKind::Names(_) => false,
    }
}

fn variant_holds(
    view: &TargetView<'_>,
    value: TypedValue,
    layout: &Type,
    at: u64,
    depth: u32,
) -> bool {
    let Some((_, contents)) = view.variant(value) else {
        return false;
    };
    if !is_body(&layout.path) {
        return may_hold(view, contents, at, depth + 1);
    }
    let variables = view.variables(layout, contents.of);
    variables.is_none_or(|variables| any_holds(view, contents, &variables, at, depth))
}

fn any_holds(
    view: &TargetView<'_>,
    value: TypedValue,
    members: &[Member],
    at: u64,
    depth: u32,
) -> bool {
    let parts = members.iter().filter_map(|member| part(value, member));
    let mut around = parts.filter(|part| {
        let size = view.layout(*part).map_or(u64::MAX, |of| of.size);
        at.checked_sub(part.address)
            .is_some_and(|offset| offset < size)
    });
    around.any(|part| may_hold(view, part, at, depth + 1))
}
