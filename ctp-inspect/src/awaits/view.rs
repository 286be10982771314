//! [`TargetView`]: values in the memory of a target, with their types.

use std::rc::Rc;

use crate::awaits::facts::TypeFacts;
use crate::awaits::known::is_function_body;
use crate::awaits::pages::Pages;
use crate::types::layout::{Member, Type, TypeKind};
use crate::types::{TypeRef, Types};

/// A value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypedValue {
    pub(crate) of: TypeRef,
    pub(crate) address: u64,
}

/// The types and the memory of a target.
pub(crate) struct TargetView<'v> {
    pub(crate) types: &'v Types,
    pub(crate) pages: &'v Pages<'v>,
    pub(super) facts: &'v TypeFacts,
}

/// The maximum number of wrappers around a value.
const MAX_WRAPPERS: usize = 64;

/// Types with a single part that matters.
const WRAPPERS: &[&str] = &[
    "core::pin::Pin",
    "core::pin::unsafe_pinned::UnsafePinned",
    "core::mem::manually_drop::ManuallyDrop",
    "core::mem::maybe_dangling::MaybeDangling",
    "core::mem::maybe_uninit::MaybeUninit",
    "core::cell::UnsafeCell",
    "core::cell::SyncUnsafeCell",
    "core::ptr::non_null::NonNull",
    "core::ptr::unique::Unique",
    "core::panic::unwind_safe::AssertUnwindSafe",
    "core::sync::atomic::AtomicPtr",
    "core::sync::atomic::Atomic",
    "core::sync::atomic::AtomicUsize",
    "core::sync::atomic::AtomicU64",
];

impl TargetView<'_> {
    pub(crate) fn layout(&self, value: TypedValue) -> Option<Rc<Type>> {
        self.types.layout(value.of)
    }

    pub(crate) fn path(&self, value: TypedValue) -> String {
        self.layout(value)
            .map_or_else(String::new, |of| of.path.clone())
    }

    /// The member of a value with this name.
    pub(crate) fn member(&self, value: TypedValue, name: &str) -> Option<TypedValue> {
        part(value, self.layout(value)?.member(name)?)
    }

    /// The unsigned number in a value of up to 8 bytes.
    pub(crate) fn number(&self, value: TypedValue) -> Option<u64> {
        self.pages.number(value.address, self.layout(value)?.size)
    }

    /// The index of the present variant of a value, and its contents; `None` if that is not certain.
    pub(crate) fn variant(&self, value: TypedValue) -> Option<(usize, TypedValue)> {
        let layout = self.layout(value)?;
        let TypeKind::Enum(of) = &layout.kind else {
            return None;
        };
        let index = match of.discriminant {
            Some((offset, size)) => {
                let address = value.address.checked_add(offset)?;
                of.variant(self.pages.number(address, size)?)?
            }
            None => 0,
        };
        let variant = of.variants.get(index)?;
        Some((index, part(value, &variant.member)?))
    }

    /// The variables of a body in its present state. When an async function begins, it moves its parameters into
    /// variables. The bytes that were moved from stay members of each state, but are not returned.
    pub(crate) fn variables(&self, body: &Type, contents: TypeRef) -> Option<Rc<[Member]>> {
        if let Some(known) = self.facts.variables.borrow().get(&contents) {
            return known.clone();
        }
        let variables = self.new_variables(body, contents).map(Rc::from);
        let known = &self.facts.variables;
        known.borrow_mut().insert(contents, variables.clone());
        variables
    }

    fn new_variables(&self, body: &Type, contents: TypeRef) -> Option<Vec<Member>> {
        let layout = self.types.layout(contents)?;
        let mut members = layout.members().to_vec();
        let begin = body.variants().first().map(|variant| variant.member.of);
        if is_function_body(&body.path) && begin != Some(contents) {
            let begin = begin.and_then(|of| self.types.layout(of))?;
            members.retain(|member| !begin.members().contains(member));
        }
        Some(members)
    }

    /// The name of the present variant: the last part of the name of its type.
    pub(crate) fn variant_name(&self, value: TypedValue) -> Option<(String, TypedValue)> {
        let (_, contents) = self.variant(value)?;
        let layout = self.layout(contents)?;
        let name = layout.path.rsplit("::").next()?;
        Some((name.to_owned(), contents))
    }

    /// What a pointer, box, reference or `Arc` leads to; `None` if null or unreadable.
    pub(crate) fn target(&self, value: TypedValue) -> Option<TypedValue> {
        let layout = self.layout(value)?;
        match &layout.kind {
            TypeKind::Pointer(to) => self.at(self.pages.word(value.address)?, (*to)?),
            TypeKind::Struct(_) if layout.member("vtable").is_some() => {
                self.dynamic_target(value, &layout)
            }
            TypeKind::Struct(_)
                if layout.path == "alloc::sync::Arc" || layout.path == "alloc::rc::Rc" =>
            {
                let shared = self.target(self.unwrapped(self.member(value, "ptr")?))?;
                self.member(shared, "data")
                    .or_else(|| self.member(shared, "value"))
            }
            _ => None,
        }
    }

    fn dynamic_target(&self, value: TypedValue, layout: &Type) -> Option<TypedValue> {
        // The value of a counted pointer lies behind the counts, at an offset that depends on its type.
        let is_counted = ["::ArcInner<", "::RcInner<", "::RcBox<"];
        if is_counted.iter().any(|inner| layout.path.contains(inner)) {
            return None;
        }
        let vtable = self
            .pages
            .word(part(value, layout.member("vtable")?)?.address)?;
        let pointer = self
            .pages
            .word(part(value, layout.member("pointer")?)?.address)?;
        let of = self.types.of_vtable(self.pages.target(), vtable)?;
        self.at(pointer, of)
    }

    fn at(&self, address: u64, of: TypeRef) -> Option<TypedValue> {
        (address != 0).then_some(TypedValue { of, address })
    }

    /// The value inside wrappers such as `Pin` and `ManuallyDrop`. Pointers stay.
    pub(crate) fn unwrapped(&self, mut value: TypedValue) -> TypedValue {
        for _ in 0..MAX_WRAPPERS {
            match self.wrapped(value) {
                Some(inner) => value = inner,
                None => break,
            }
        }
        value
    }

    fn wrapped(&self, value: TypedValue) -> Option<TypedValue> {
        let layout = self.layout(value)?;
        if layout.member("vtable").is_some() || !is_wrapper(&layout.path) {
            return None;
        }
        match &layout.kind {
            TypeKind::Union(_) => self.member(value, "value"),
            TypeKind::Struct(members) => {
                let mut sized = members.iter().filter(|member| self.size(member) != 0);
                let (only, other) = (sized.next()?, sized.next());
                if other.is_some() {
                    None
                } else {
                    part(value, only)
                }
            }
            _ => None,
        }
    }

    fn size(&self, member: &Member) -> u64 {
        self.types.layout(member.of).map_or(u64::MAX, |of| of.size)
    }
}

fn is_wrapper(path: &str) -> bool {
    WRAPPERS.contains(&path)
        || path.ends_with("::unsafe_cell::UnsafeCell")
        || path.ends_with("::CachePadded")
}

/// A part of a value. `None` if its address would overflow.
pub(crate) fn part(value: TypedValue, member: &Member) -> Option<TypedValue> {
    Some(TypedValue {
        of: member.of,
        address: value.address.checked_add(member.offset)?,
    })
}
