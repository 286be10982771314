//! Reads the layout of a type from its entry in the debug info.

use std::cell::OnceCell;

use gimli::{AttributeValue, EntriesTreeNode, Reader as _};
use symbolize::DebugReader;

use super::TypeRef;
use super::layout::{Enum, Member, Type, TypeKind, Variant, VariantNumbers};
use super::module::{Die, Module, Target, Unit, Value, name_of};
use super::name::without_generics;

/// Reads a type of a module.
pub(super) struct EntryReader<'m> {
    pub(super) module: &'m Module,
    pub(super) of: TypeRef,
}

type Node<'a, 't, 'u> = EntriesTreeNode<'a, 't, DebugReader<'u>>;

/// The parts of a type with members.
#[derive(Default)]
struct Parts {
    members: Vec<Member>,
    parameters: Vec<TypeRef>,
    variants: Option<Enum>,
    names: Vec<(u64, String)>,
    count: Option<u64>,
}

/// A type with more parts or variants is not read.
const MAX_PARTS: usize = 16_384;
const ADDRESS_BYTES: u64 = 8;

impl EntryReader<'_> {
    pub(super) fn read<'u>(&self, unit: Unit<'u>, entry: &Die<'u>) -> Option<Type> {
        // This is only a declaration: the definition is in another unit.
        if entry.attr_value(gimli::DW_AT_declaration).is_some() {
            return None;
        }
        let name = name_of(unit, entry).unwrap_or_default();
        let mut parts = Parts::default();
        let kind = match entry.tag() {
            gimli::DW_TAG_base_type | gimli::DW_TAG_subroutine_type => TypeKind::Scalar,
            gimli::DW_TAG_pointer_type => TypeKind::Pointer(self.type_of(entry)),
            gimli::DW_TAG_structure_type => {
                self.read_parts(unit, entry, &mut parts)?;
                kind_of_struct(&mut parts)
            }
            gimli::DW_TAG_union_type => {
                self.read_parts(unit, entry, &mut parts)?;
                TypeKind::Union(parts.members)
            }
            gimli::DW_TAG_enumeration_type => {
                self.read_parts(unit, entry, &mut parts)?;
                TypeKind::Names(parts.names)
            }
            gimli::DW_TAG_array_type => {
                self.read_parts(unit, entry, &mut parts)?;
                TypeKind::Array(self.type_of(entry)?, parts.count?)
            }
            _ => return None,
        };
        let size = number(entry, gimli::DW_AT_byte_size);
        let size = size.unwrap_or(if matches!(kind, TypeKind::Pointer(_)) {
            ADDRESS_BYTES
        } else {
            0
        });
        let name = self.full_name(name);
        Some(Type {
            path: without_generics(&name).to_owned(),
            name,
            size,
            kind,
            parameters: parts.parameters,
            shown: OnceCell::new(),
        })
    }

    fn full_name(&self, name: String) -> String {
        let scope = self.module.scope(self.of.entry);
        if scope.is_empty() {
            name
        } else {
            format!("{scope}::{name}")
        }
    }

    fn read_parts<'u>(&self, unit: Unit<'u>, entry: &Die<'u>, parts: &mut Parts) -> Option<()> {
        let mut tree = unit.entries_tree(Some(entry.offset())).ok()?;
        let mut children = tree.root().ok()?.children();
        for _ in 0..MAX_PARTS {
            let Some(child) = children.next().ok()? else {
                return Some(());
            };
            self.read_part(unit, child, parts)?;
        }
        None
    }

    fn read_part<'u>(
        &self,
        unit: Unit<'u>,
        child: Node<'_, '_, 'u>,
        parts: &mut Parts,
    ) -> Option<()> {
        let entry = child.entry();
        match entry.tag() {
            gimli::DW_TAG_member => parts.members.push(self.member(unit, entry)?),
            gimli::DW_TAG_template_type_parameter => parts.parameters.extend(self.type_of(entry)),
            gimli::DW_TAG_variant_part => parts.variants = Some(self.variants(unit, child)?),
            gimli::DW_TAG_subrange_type => parts.count = count(entry),
            gimli::DW_TAG_enumerator => {
                let value = number(entry, gimli::DW_AT_const_value)?;
                parts.names.push((value, name_of(unit, entry)?));
            }
            _ => {}
        }
        Some(())
    }

    fn member<'u>(&self, unit: Unit<'u>, entry: &Die<'u>) -> Option<Member> {
        Some(Member {
            name: name_of(unit, entry).unwrap_or_default(),
            offset: number(entry, gimli::DW_AT_data_member_location).unwrap_or(0),
            of: self.type_of(entry)?,
        })
    }

    fn variants<'u>(&self, unit: Unit<'u>, part: Node<'_, '_, 'u>) -> Option<Enum> {
        let discriminant = part.entry().attr_value(gimli::DW_AT_discr);
        let discriminant = discriminant.map(|value| self.discriminant(unit, &value));
        let mut variants = Vec::new();
        let mut children = part.children();
        while let Some(child) = children.next().ok()? {
            if child.entry().tag() == gimli::DW_TAG_variant {
                variants.push(self.variant(unit, child)?);
            }
            if MAX_PARTS < variants.len() {
                return None;
            }
        }
        let discriminant = match discriminant {
            Some(place) => Some(place?),
            // Without a discriminant, only a single variant is certain.
            None if variants.len() == 1 => None,
            None => return None,
        };
        Some(Enum {
            discriminant,
            variants,
        })
    }

    /// Offset and size of the discriminant.
    fn discriminant<'u>(&self, unit: Unit<'u>, value: &Value<'u>) -> Option<(u64, u64)> {
        let AttributeValue::UnitRef(offset) = value else {
            return None;
        };
        let entry = unit.entry(*offset).ok()?;
        let offset = number(&entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        let of = Target::of(&entry.attr_value(gimli::DW_AT_type)?)?;
        // An optimised program may have the discriminant's type in another unit.
        let of = self.module.resolve(self.of.entry, of)?;
        let size = self
            .module
            .with_entry(of, |_, _, of| size_of_number(&of))??;
        (size <= ADDRESS_BYTES).then_some((offset, size))
    }

    fn variant<'u>(&self, unit: Unit<'u>, variant: Node<'_, '_, 'u>) -> Option<Variant> {
        let numbers = numbers(variant.entry());
        let mut children = variant.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_member {
                return Some(Variant {
                    numbers,
                    member: self.member(unit, entry)?,
                    file: file(unit, entry).unwrap_or_default(),
                    line: line(entry),
                });
            }
        }
        None
    }

    fn type_of(&self, entry: &Die<'_>) -> Option<TypeRef> {
        let target = Target::of(&entry.attr_value(gimli::DW_AT_type)?)?;
        let found = self.module.resolve(self.of.entry, target)?;
        Some(TypeRef::new(self.of.module, found))
    }
}

fn size_of_number(of: &Die<'_>) -> Option<u64> {
    match of.tag() {
        gimli::DW_TAG_pointer_type => Some(ADDRESS_BYTES),
        _ => number(of, gimli::DW_AT_byte_size),
    }
}

fn kind_of_struct(parts: &mut Parts) -> TypeKind {
    match parts.variants.take() {
        Some(variants) => TypeKind::Enum(variants),
        None => TypeKind::Struct(std::mem::take(&mut parts.members)),
    }
}

fn numbers(variant: &Die<'_>) -> VariantNumbers {
    if variant.attr_value(gimli::DW_AT_discr_list).is_some() {
        return VariantNumbers::Unknown;
    }
    match variant.attr_value(gimli::DW_AT_discr_value) {
        None => VariantNumbers::Others,
        Some(_) => number(variant, gimli::DW_AT_discr_value)
            .map_or(VariantNumbers::Unknown, VariantNumbers::Is),
    }
}

/// The value of a constant attribute. A negative value is returned as its bits in memory.
fn number(entry: &Die<'_>, name: gimli::DwAt) -> Option<u64> {
    let value = entry.attr_value(name)?;
    value
        .udata_value()
        .or_else(|| value.sdata_value().map(i64::cast_unsigned))
}

fn count(range: &Die<'_>) -> Option<u64> {
    number(range, gimli::DW_AT_count)
        .or_else(|| number(range, gimli::DW_AT_upper_bound)?.checked_add(1))
}

pub(crate) fn line(entry: &Die<'_>) -> u32 {
    let line = number(entry, gimli::DW_AT_decl_line);
    line.and_then(|line| line.try_into().ok()).unwrap_or(0)
}

/// The path of the file that declares an entry, absolute if the directory is known.
pub(crate) fn file<'u>(unit: Unit<'u>, entry: &Die<'u>) -> Option<String> {
    let AttributeValue::FileIndex(index) = entry.attr_value(gimli::DW_AT_decl_file)? else {
        return None;
    };
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let name = unit.attr_string(file.path_name()).ok()?;
    let name = name.to_string_lossy().into_owned();
    let directory = file.directory(header);
    let directory = directory.and_then(|value| unit.attr_string(value).ok());
    match directory {
        Some(directory) if !name.starts_with('/') && !directory.is_empty() => {
            Some(format!("{}/{name}", directory.to_string_lossy()))
        }
        _ => Some(name),
    }
}
