//! [`WakerSearch`]: searches a value, and everything that the value points to, for wakers of a task.
//!
//! The search knows where values are by their types. Raw pointers may be dangling, and the variables of an async
//! function may have been moved away. The search follows neither. If there are any, the result is marked as incomplete.

use std::collections::BTreeSet;

use ctp_trace::record::TaskId;
use foldhash::HashSet;

use super::known::is_body;
use super::view::{TargetView, TypedValue, part};
use super::waker::WakerOwner;
use crate::types::TypeRef;
use crate::types::layout::{Type, TypeKind};

/// Maximum number of parts that are visited.
const MAX_PARTS: usize = 16_384;
/// Maximum depth of nested types that are searched for pointers.
const MAX_UNION_DEPTH: u32 = 8;
const WAKER_BYTES: u64 = 16;

/// Searches values for wakers of a task.
pub(super) struct WakerSearch<'s> {
    view: &'s TargetView<'s>,
    /// The search looks for the wakers of this owner.
    owner: WakerOwner,
    /// The tasks, by the addresses of their headers.
    tasks: &'s dyn Fn(u64) -> Option<TaskId>,
    next: Vec<TypedValue>,
    visited: HashSet<TypedValue>,
    /// The memory that was read: address and size of each part.
    read: Vec<(u64, u64)>,
    found: FoundWakers,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FoundWakers {
    /// The addresses of the wakers of the task.
    pub(super) wakers: BTreeSet<u64>,
    /// Whether anything was left out that may lead to a waker of the task.
    pub(super) is_cut: bool,
}

impl<'s> WakerSearch<'s> {
    pub(super) fn new(
        view: &'s TargetView<'s>,
        owner: WakerOwner,
        tasks: &'s dyn Fn(u64) -> Option<TaskId>,
    ) -> Self {
        Self {
            view,
            owner,
            tasks,
            next: Vec::new(),
            visited: HashSet::default(),
            read: Vec::new(),
            found: FoundWakers::default(),
        }
    }

    /// Searches these values. Wakers in memory that changes during the search are left out.
    pub(super) fn run(mut self, from: impl IntoIterator<Item = TypedValue>) -> FoundWakers {
        self.next.extend(from);
        while let Some(value) = self.next.pop() {
            if !self.visited.insert(value) {
                continue;
            }
            if MAX_PARTS < self.visited.len() {
                self.found.is_cut = true;
                break;
            }
            if self.visit(value).is_none() {
                self.found.is_cut = true;
            }
        }
        let pages = self.view.pages;
        let mut read = self.read.iter();
        self.found.is_cut |= !read.all(|(address, size)| pages.is_unchanged(*address, *size));
        let wakers = &mut self.found.wakers;
        wakers.retain(|waker| pages.is_unchanged(*waker, WAKER_BYTES));
        self.found
    }

    /// Adds the parts of a value; `None` if a part cannot be followed.
    fn visit(&mut self, value: TypedValue) -> Option<()> {
        let layout = self.view.layout(value)?;
        if self.is_plain(value.of, 0) {
            return Some(());
        }
        self.read.push((value.address, layout.size));
        match layout.path.as_str() {
            "core::task::wake::RawWaker" => return self.visit_waker(value),
            "alloc::vec::Vec" => return self.visit_vec(value, &layout),
            "alloc::sync::Arc" | "alloc::rc::Rc" => return self.visit_shared(value),
            _ => {}
        }
        if is_body(&layout.path) || is_runtime(&layout.path) {
            return None;
        }
        if layout.member("data_ptr").is_some() && layout.member("length").is_some() {
            return self.visit_slice(value);
        }
        match &layout.kind {
            TypeKind::Pointer(_) => self.visit_pointer(value, &layout),
            TypeKind::Struct(_) if layout.member("vtable").is_some() => {
                self.visit_pointer(value, &layout)
            }
            TypeKind::Struct(members) => {
                let mut parts = members.iter().map(|member| part(value, member));
                parts.try_for_each(|part| self.push(part?))
            }
            TypeKind::Enum(_) => {
                let (_, contents) = self.view.variant(value)?;
                self.push(contents)
            }
            TypeKind::Array(of, count) => self.push_elements(value.address, *of, *count),
            TypeKind::Union(_) => None,
            TypeKind::Scalar | TypeKind::Names(_) => Some(()),
        }
    }

    fn push(&mut self, value: TypedValue) -> Option<()> {
        self.next.push(value);
        Some(())
    }

    fn word_of(&self, value: TypedValue, member: &str) -> Option<u64> {
        let member = self.view.member(value, member)?;
        self.view.pages.word(member.address)
    }

    fn visit_waker(&mut self, waker: TypedValue) -> Option<()> {
        let (data, vtable) = (self.word_of(waker, "data")?, self.word_of(waker, "vtable")?);
        if vtable != 0 && self.owner.is_woken_by(data) {
            self.found.wakers.insert(waker.address);
            return Some(());
        }
        // The waker of another task does not wake this task. A waker that belongs to no task might.
        (self.tasks)(data).map(|_| ())
    }

    fn visit_vec(&mut self, vec: TypedValue, layout: &Type) -> Option<()> {
        let element = *layout.parameters.first()?;
        let count = self.view.number(self.view.member(vec, "len")?)?;
        let buffer = self.view.member(vec, "buf")?;
        let buffer = self.view.member(buffer, "inner").unwrap_or(buffer);
        let pointer = self.view.unwrapped(self.view.member(buffer, "ptr")?);
        let first = self.view.pages.word(pointer.address)?;
        self.push_elements(first, element, count)
    }

    fn visit_slice(&mut self, slice: TypedValue) -> Option<()> {
        let layout = self.view.layout(slice)?;
        if layout.name.starts_with('*') {
            return None;
        }
        let pointer = self.view.member(slice, "data_ptr")?;
        let count = self.view.number(self.view.member(slice, "length")?)?;
        match self.view.layout(pointer)?.kind {
            TypeKind::Pointer(Some(of)) => {
                let first = self.view.pages.word(pointer.address)?;
                self.push_elements(first, of, count)
            }
            _ => None,
        }
    }

    fn push_elements(&mut self, first: u64, of: TypeRef, count: u64) -> Option<()> {
        if count == 0 || self.is_plain(of, 0) {
            return Some(());
        }
        let size = self.view.types.layout(of)?.size;
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count < MAX_PARTS)?;
        for index in 0..count as u64 {
            let address = first.checked_add(index.checked_mul(size)?)?;
            self.next.push(TypedValue { of, address });
        }
        Some(())
    }

    /// Adds the value of an `Arc` or `Rc`. `None` if the type of the value is not sized.
    fn visit_shared(&mut self, shared: TypedValue) -> Option<()> {
        let pointer = self.view.unwrapped(self.view.member(shared, "ptr")?);
        match self.view.layout(pointer)?.kind {
            TypeKind::Pointer(_) => self.push(self.view.target(shared)?),
            _ => None,
        }
    }

    /// Adds what a reference or box leads to. `None` for other pointers.
    fn visit_pointer(&mut self, pointer: TypedValue, layout: &Type) -> Option<()> {
        let is_safe = layout.name.starts_with('&') || layout.path == "alloc::boxed::Box";
        if is_safe {
            self.push(self.view.target(pointer)?)
        } else {
            None
        }
    }

    /// Whether values of a type contain no pointers. False also if the type is unknown.
    fn is_plain(&self, of: TypeRef, depth: u32) -> bool {
        if let Some(known) = self.view.facts.without_pointers.borrow().get(&of) {
            return *known;
        }
        let is_plain = self.compute_is_plain(of, depth);
        // A nested type may be refused only because of its depth, which is no property of the type.
        if is_plain || depth == 0 {
            let known = &self.view.facts.without_pointers;
            known.borrow_mut().insert(of, is_plain);
        }
        is_plain
    }

    fn compute_is_plain(&self, of: TypeRef, depth: u32) -> bool {
        let Some(layout) = self
            .view
            .types
            .layout(of)
            .filter(|_| depth < MAX_UNION_DEPTH)
        else {
            return false;
        };
        match &layout.kind {
            TypeKind::Scalar | TypeKind::Names(_) => true,
            TypeKind::Pointer(_) => false,
            TypeKind::Array(element, _) => self.is_plain(*element, depth + 1),
            TypeKind::Struct(members) | TypeKind::Union(members) => members
                .iter()
                .all(|member| self.is_plain(member.of, depth + 1)),
            TypeKind::Enum(of) => of
                .variants
                .iter()
                .all(|variant| self.is_plain(variant.member.of, depth + 1)),
        }
    }
}

/// Whether a type is the shared state of a runtime, which leads to all tasks and changes all the time.
fn is_runtime(path: &str) -> bool {
    path.starts_with("tokio::runtime::scheduler::")
        || path.starts_with("tokio::runtime::handle::")
        || path == "async_executor::State"
}
