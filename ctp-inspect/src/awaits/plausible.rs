//! [`is_plausible`]: whether memory can be a value of a type.

use super::known::is_body;
use super::view::{TargetView, TypedValue, part};
use crate::types::layout::{Type, TypeKind, VariantNumbers};

/// The maximum number of parts that are checked.
const MAX_PARTS: usize = 512;
/// Nothing is mapped below this address.
const MIN_ADDRESS: u64 = 4096;

/// Whether the parts of a value are possible: variants exist, booleans are 0 or 1, and references lead to memory.
///
/// Of a suspended body, only the awaited future is checked, because other variables may have been moved away, or not
/// been set yet.
pub(super) fn is_plausible(view: &TargetView<'_>, value: TypedValue) -> bool {
    let mut next = vec![value];
    let mut count = 0;
    while let Some(value) = next.pop() {
        count += 1;
        if MAX_PARTS < count {
            break;
        }
        let Some(layout) = view.layout(value) else {
            continue;
        };
        if !add_parts(view, value, &layout, &mut next) {
            return false;
        }
    }
    true
}

/// Adds the parts of a value that is possible. Returns whether it is.
fn add_parts(
    view: &TargetView<'_>,
    value: TypedValue,
    layout: &Type,
    next: &mut Vec<TypedValue>,
) -> bool {
    match &layout.kind {
        TypeKind::Struct(members) => {
            let is_possible = !is_reference(layout) || leads_to_memory(view, value);
            let parts = members.iter().filter_map(|member| part(value, member));
            next.extend(parts);
            is_possible
        }
        TypeKind::Pointer(_) => !is_reference(layout) || leads_to_memory(view, value),
        TypeKind::Enum(of) => {
            let variants = of.variants.iter();
            let mut numbers = variants.map(|variant| variant.numbers);
            match view.variant(value) {
                Some((_, contents)) => next.extend(checked(view, layout, contents)),
                None => return numbers.any(|numbers| numbers == VariantNumbers::Unknown),
            }
            true
        }
        TypeKind::Scalar if layout.name == "bool" => {
            view.number(value).is_some_and(|bool| bool <= 1)
        }
        _ => true,
    }
}

/// The part of a variant that is checked: all of it, or what a suspended body awaits.
fn checked(view: &TargetView<'_>, layout: &Type, contents: TypedValue) -> Option<TypedValue> {
    let name = view.path(contents);
    if !is_body(&layout.path) || name.ends_with("::Unresumed") {
        return Some(contents);
    }
    view.member(contents, "__awaitee")
}

fn is_reference(layout: &Type) -> bool {
    layout.name.starts_with('&') || layout.path == "alloc::boxed::Box"
}

/// Whether the first word of a value is the address of memory, or of a value without a size.
fn leads_to_memory(view: &TargetView<'_>, value: TypedValue) -> bool {
    let address = view.pages.word(value.address).unwrap_or_default();
    let is_mapped = || view.pages.target().mapping_at(address).is_some();
    0 < address && (address < MIN_ADDRESS || is_mapped())
}
