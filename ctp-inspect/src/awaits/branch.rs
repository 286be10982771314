//! Follows the futures inside combinators, boxes, `select!` and `join!`.

use super::known::{LeafType, is_body, known};
use super::search::{find_first, owned_bodies};
use super::shown;
use super::view::{TargetView, TypedValue, part};
use super::walk::AwaitWalk;
use crate::types::TypeRef;
use crate::types::layout::{Member, Type, TypeKind};

/// The maximum number of futures of a slice or a set that are shown.
pub(super) const MAX_BRANCHES: u64 = 64;
/// The gap to report if there are more branches.
pub(super) const MORE_BRANCHES: &str = "a future has more branches than are shown";
/// The maximum depth of nested wrappers.
const MAX_DEPTH: u32 = 16;

impl AwaitWalk<'_> {
    /// Follows a future of a known type that runs all futures among its members, such as `Join`.
    pub(super) fn follow_all(&mut self, future: TypedValue, layout: &Type, depth: u32) {
        let Some(parts) = future_parts(self.view, future) else {
            self.add_gap("the state of a future cannot be read");
            return;
        };
        self.add_frame(depth, shown(layout));
        for inner in parts {
            self.follow(inner, depth + 1);
        }
    }

    /// Follows the future inside a wrapper. The wrapper itself is not shown.
    pub(super) fn follow_wrapper(&mut self, future: TypedValue, layout: &Type, depth: u32) {
        match future_parts(self.view, future).as_deref() {
            Some(&[inner]) => self.follow(inner, depth),
            Some([]) => {}
            _ => self.add_unknown_leaf(shown(layout), depth),
        }
    }

    /// Follows a future that may have ended already.
    pub(super) fn follow_unfinished(&mut self, future: TypedValue, depth: u32) {
        let Some((state, contents)) = self.view.variant_name(future) else {
            self.add_gap("the state of a future cannot be read");
            return;
        };
        if state != "Future" {
            return;
        }
        for inner in future_parts(self.view, contents).unwrap_or_default() {
            self.follow(inner, depth);
        }
    }

    /// Follows a pointer, a slice, or a future of a type that is not known.
    pub(super) fn follow_other(&mut self, future: TypedValue, layout: &Type, depth: u32) {
        if layout.path == "core::option::Option" {
            self.follow_wrapper(future, layout, depth);
            return;
        }
        if is_slice(layout) {
            self.follow_slice(future, depth);
            return;
        }
        if is_pointer(layout) {
            match self.view.target(future) {
                Some(inner) => self.follow(inner, depth),
                None => self.add_unknown_leaf(layout.name.clone(), depth),
            }
            return;
        }
        match self.inner_future(future) {
            Some(inner) => {
                self.add_frame(depth, shown(layout));
                self.follow_unproven(inner, depth + 1);
            }
            None if self.follow_set(future, layout, depth) => {}
            None => self.add_leaf(future, layout, LeafType::Other, depth),
        }
    }

    /// The only future inside a future of an unknown type: among its members or, if no member is a future, anywhere in
    /// what the future owns. `None` if there are several, or none.
    fn inner_future(&self, future: TypedValue) -> Option<TypedValue> {
        let parts = future_parts(self.view, future)?;
        let parts = if parts.is_empty() {
            owned_bodies(self.view, future)?
        } else {
            parts
        };
        match parts[..] {
            [inner] => Some(inner),
            _ => None,
        }
    }

    fn follow_slice(&mut self, slice: TypedValue, depth: u32) {
        let Some((first, count, size)) = slice_parts(self.view, slice) else {
            self.add_gap("the branches of a future cannot be read");
            return;
        };
        if MAX_BRANCHES < count {
            self.add_gap(MORE_BRANCHES);
        }
        for index in 0..count.min(MAX_BRANCHES) {
            let address = first.address.wrapping_add(index.wrapping_mul(size));
            self.follow(TypedValue { address, ..first }, depth);
        }
    }

    /// Follows a closure that is polled. The futures that the closure captures are its branches.
    pub(super) fn follow_poll_fn(&mut self, future: TypedValue, layout: &Type, depth: u32) {
        let closure = layout
            .members()
            .first()
            .and_then(|member| part(future, member));
        let Some(closure) = closure else {
            self.add_closure(depth);
            return;
        };
        let path = self.view.path(closure);
        if path.starts_with("tokio::sync::mpsc::") && path.contains("::recv") {
            self.add_leaf(closure, layout, LeafType::Receive, depth);
            return;
        }
        if path.starts_with("tokio::task::join_set::") && self.follow_join_set(closure, depth) {
            return;
        }
        if path.starts_with("tokio::time::interval::")
            && let Some(sleep) = find_first(self.view, closure, "::Sleep", 4)
        {
            self.follow(sleep, depth);
            return;
        }
        let branches = captured_futures(self.view, closure);
        if branches.is_empty() {
            self.add_closure(depth);
            return;
        }
        self.add_frame(depth, "std::future::PollFn".to_owned());
        let is_known = self.take_expanded();
        for branch in branches {
            if is_known {
                self.follow(branch, depth + 1);
            } else {
                self.follow_unproven(branch, depth + 1);
            }
        }
    }
}

/// The futures among the parts of a value; `None` if the present variant is not certain.
pub(super) fn future_parts(view: &TargetView<'_>, value: TypedValue) -> Option<Vec<TypedValue>> {
    let layout = view.layout(value)?;
    let (contents, layout) = match &layout.kind {
        TypeKind::Enum(_) => {
            let (_, contents) = view.variant(value)?;
            (contents, view.layout(contents)?)
        }
        _ => (value, layout),
    };
    let members = layout.members().iter();
    let futures = members.filter(|member| is_future(view, member.of, 0));
    futures.map(|member| part(contents, member)).collect()
}

/// Whether a type is a future, or contains nothing but a future.
pub(super) fn is_future(view: &TargetView<'_>, of: TypeRef, depth: u32) -> bool {
    if let Some(known) = view.facts.futures.borrow().get(&of) {
        return *known;
    }
    let is_future = compute_is_future(view, of, depth);
    view.facts.futures.borrow_mut().insert(of, is_future);
    is_future
}

fn compute_is_future(view: &TargetView<'_>, of: TypeRef, depth: u32) -> bool {
    let Some(layout) = view.types.layout(of).filter(|_| depth < MAX_DEPTH) else {
        return false;
    };
    if is_body(&layout.path) || known(&layout.path).is_some() {
        return true;
    }
    let inner = match layout.path.as_str() {
        "core::pin::Pin" | "core::mem::manually_drop::ManuallyDrop" => {
            layout.parameters.first().copied()
        }
        "core::option::Option" => option_contents(view, &layout),
        _ if layout.name.starts_with('*') => None,
        _ if is_slice(&layout) => slice_element(view, &layout),
        _ if layout.member("vtable").is_some() => {
            return layout.name.contains("dyn core::future::future::Future");
        }
        _ => match layout.kind {
            TypeKind::Pointer(to) if is_unique(&layout) => to,
            TypeKind::Pointer(_) => None,
            _ => return view.types.is_future(of, &layout.path),
        },
    };
    inner.is_some_and(|inner| is_future(view, inner, depth + 1))
}

/// The type in an `Option`.
fn option_contents(view: &TargetView<'_>, option: &Type) -> Option<TypeRef> {
    let TypeKind::Enum(of) = &option.kind else {
        return None;
    };
    let contents = of.variants.iter().map(|variant| variant.member.of);
    let mut members = contents.filter_map(|of| Some(view.types.layout(of)?.member("__0")?.of));
    members.next()
}

/// Whether a pointer is the only way to its target.
fn is_unique(pointer: &Type) -> bool {
    pointer.name.starts_with("&mut ") || pointer.path == "alloc::boxed::Box"
}

fn is_pointer(layout: &Type) -> bool {
    matches!(layout.kind, TypeKind::Pointer(_)) || layout.member("vtable").is_some()
}

fn is_slice(layout: &Type) -> bool {
    layout.member("data_ptr").is_some() && layout.member("length").is_some()
}

fn slice_element(view: &TargetView<'_>, slice: &Type) -> Option<TypeRef> {
    match view.types.layout(slice.member("data_ptr")?.of)?.kind {
        TypeKind::Pointer(to) => to,
        _ => None,
    }
}

/// The first element of a slice, how many elements there are, and their size.
fn slice_parts(view: &TargetView<'_>, slice: TypedValue) -> Option<(TypedValue, u64, u64)> {
    let first = view.target(view.member(slice, "data_ptr")?)?;
    let count = view.number(view.member(slice, "length")?)?;
    Some((first, count, view.layout(first)?.size))
}

/// The futures that a closure captures, also in tuples. Branches that `select!` has switched off are left out.
fn captured_futures(view: &TargetView<'_>, closure: TypedValue) -> Vec<TypedValue> {
    let Some(layout) = view.layout(closure) else {
        return Vec::new();
    };
    let mut futures = Vec::new();
    for member in layout.members() {
        let Some(captured) = part(closure, member).map(|value| dereferenced(view, value)) else {
            continue;
        };
        let Some(of) = view.layout(captured) else {
            continue;
        };
        if of.name.starts_with('(') {
            let disabled = disabled_branches(view, closure, &layout);
            futures.extend(tuple_futures(view, captured, &of, disabled));
        } else if is_future(view, captured.of, 0) {
            futures.push(captured);
        }
    }
    futures
}

fn tuple_futures(
    view: &TargetView<'_>,
    tuple: TypedValue,
    of: &Type,
    disabled: u64,
) -> Vec<TypedValue> {
    let members = of
        .members()
        .iter()
        .filter(|member| is_future(view, member.of, 0));
    let enabled = members.filter(|member| !is_disabled(member, disabled));
    enabled.filter_map(|member| part(tuple, member)).collect()
}

fn is_disabled(branch: &Member, disabled: u64) -> bool {
    let number = branch
        .name
        .strip_prefix("__")
        .and_then(|number| number.parse().ok());
    number.is_some_and(|number: u32| disabled.checked_shr(number).unwrap_or(0) & 1 != 0)
}

/// The branches of `select!` that are switched off, because they have ended or do not apply: bit N stands for branch N.
/// 0 if unknown.
fn disabled_branches(view: &TargetView<'_>, closure: TypedValue, layout: &Type) -> u64 {
    let mut members = layout.members().iter();
    let disabled = members.find(|member| member.name.ends_with("disabled"));
    let value = disabled.and_then(|member| part(closure, member));
    value
        .and_then(|value| view.number(dereferenced(view, value)))
        .unwrap_or(0)
}

/// Follows references. Boxes are not followed.
fn dereferenced(view: &TargetView<'_>, mut value: TypedValue) -> TypedValue {
    for _ in 0..MAX_DEPTH {
        let is_reference = view.layout(value).is_some_and(|of| is_plain_reference(&of));
        match view.target(value).filter(|_| is_reference) {
            Some(target) => value = target,
            None => break,
        }
    }
    value
}

fn is_plain_reference(layout: &Type) -> bool {
    matches!(layout.kind, TypeKind::Pointer(_)) && layout.name.starts_with('&')
}
