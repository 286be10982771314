//! Searches a value for parts of a type.

use std::collections::VecDeque;

use foldhash::HashSet;

use super::known::is_body;
use super::view::{TargetView, TypedValue, part};
use crate::types::layout::{Type, TypeKind};

/// The maximum number of parts that are visited.
const MAX_PARTS: usize = 1024;

/// The parts of a value that have a type with a path ending in `path_end`. Follows up to `references` references, boxes
/// and `Arc`s in a row. `None` if the search was cut.
pub(crate) fn find(
    view: &TargetView<'_>,
    from: TypedValue,
    path_end: &str,
    references: u32,
) -> Option<Vec<TypedValue>> {
    find_where(
        view,
        from,
        &|layout| layout.path.ends_with(path_end),
        references,
    )
}

/// The parts of the type with this path that a value owns, also in boxes and in futures. `None` if the search was cut.
pub(crate) fn owned_of(
    view: &TargetView<'_>,
    from: TypedValue,
    path: &str,
) -> Option<Vec<TypedValue>> {
    search(
        view,
        from,
        &|layout| layout.path == path,
        &is_box,
        MAX_PARTS as u32,
    )
}

/// Like [`find`], for types that satisfy a predicate. The parts of a match are not searched.
pub(crate) fn find_where(
    view: &TargetView<'_>,
    from: TypedValue,
    is_match: &dyn Fn(&Type) -> bool,
    references: u32,
) -> Option<Vec<TypedValue>> {
    search(view, from, is_match, &is_followed, references)
}

fn search(
    view: &TargetView<'_>,
    from: TypedValue,
    is_match: &dyn Fn(&Type) -> bool,
    is_followed: &dyn Fn(&Type) -> bool,
    references: u32,
) -> Option<Vec<TypedValue>> {
    let mut search = Search {
        view,
        is_followed,
        next: VecDeque::from([(from, references)]),
        met: HashSet::default(),
        is_whole: true,
    };
    let mut found = Vec::new();
    while let Some((value, references)) = search.next.pop_front() {
        if !search.met.insert(value) {
            continue;
        }
        if MAX_PARTS < search.met.len() {
            return None;
        }
        let Some(layout) = view.layout(value) else {
            search.is_whole = false;
            continue;
        };
        if is_match(&layout) {
            found.push(value);
        } else {
            search.add_parts(value, &layout, references);
        }
    }
    search.is_whole.then_some(found)
}

/// The bodies of async functions and blocks that a value owns, also in boxes. `None` if the search was cut.
pub(crate) fn owned_bodies(view: &TargetView<'_>, from: TypedValue) -> Option<Vec<TypedValue>> {
    search(
        view,
        from,
        &|layout| is_body(&layout.path),
        &is_box,
        MAX_PARTS as u32,
    )
}

/// The parts of these types that a value owns, also in boxes, but not inside the bodies of async functions.
/// `None` if the search was cut.
pub(crate) fn owned(
    view: &TargetView<'_>,
    from: TypedValue,
    is_wanted: &dyn Fn(&Type) -> bool,
) -> Option<Vec<TypedValue>> {
    let is_match = |layout: &Type| is_wanted(layout) || is_body(&layout.path);
    let mut found = search(view, from, &is_match, &is_box, MAX_PARTS as u32)?;
    found.retain(|value| view.layout(*value).is_some_and(|layout| is_wanted(&layout)));
    Some(found)
}

/// The first part that [`find`] returns. `None` also if the search was cut.
pub(crate) fn find_first(
    view: &TargetView<'_>,
    from: TypedValue,
    path_end: &str,
    references: u32,
) -> Option<TypedValue> {
    find(view, from, path_end, references)?.first().copied()
}

struct Search<'s> {
    view: &'s TargetView<'s>,
    is_followed: &'s dyn Fn(&Type) -> bool,
    next: VecDeque<(TypedValue, u32)>,
    met: HashSet<TypedValue>,
    is_whole: bool,
}

impl Search<'_> {
    fn add_parts(&mut self, value: TypedValue, layout: &Type, references: u32) {
        if (self.is_followed)(layout) {
            let target = self.view.target(value).filter(|_| 0 < references);
            self.next
                .extend(target.map(|target| (target, references - 1)));
            return;
        }
        match &layout.kind {
            TypeKind::Struct(members) => {
                let parts = members.iter().filter_map(|member| part(value, member));
                self.next.extend(parts.map(|part| (part, references)));
            }
            TypeKind::Enum(_) => match self.parts_of_variant(value, layout) {
                Some(parts) => {
                    let parts = parts.into_iter().map(|part| (part, references));
                    self.next.extend(parts);
                }
                None => self.is_whole = false,
            },
            _ => {}
        }
    }
}

impl Search<'_> {
    /// The parts of the present variant. For a body, these are its variables.
    fn parts_of_variant(&self, value: TypedValue, layout: &Type) -> Option<Vec<TypedValue>> {
        let (_, contents) = self.view.variant(value)?;
        if !is_body(&layout.path) {
            return Some(vec![contents]);
        }
        let variables = self.view.variables(layout, contents.of)?;
        let parts = variables.iter().filter_map(|of| part(contents, of));
        Some(parts.collect())
    }
}

/// Whether pointers of this type are followed: references, boxes and `Arc`s are. Raw pointers are not,
/// because they may be dangling.
fn is_followed(layout: &Type) -> bool {
    let is_shared = matches!(layout.path.as_str(), "alloc::sync::Arc" | "alloc::rc::Rc");
    let is_pointer =
        matches!(layout.kind, TypeKind::Pointer(_)) || layout.member("vtable").is_some();
    let is_safe = layout.name.starts_with('&') || layout.path == "alloc::boxed::Box";
    is_shared || is_pointer && is_safe
}

fn is_box(layout: &Type) -> bool {
    layout.path == "alloc::boxed::Box"
}
