//! [`Type`]: what a type consists of, and where in its values each part is.

use std::cell::OnceCell;

use super::TypeRef;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The full path with generic parameters: `app::Pool<u8>`, `&mut app::Pool<u8>`.
    pub name: String,
    /// The full path without generic parameters: `app::Pool`.
    pub path: String,
    /// Size of a value in bytes.
    pub size: u64,
    /// What a value consists of.
    pub kind: TypeKind,
    /// The generic parameters.
    pub parameters: Vec<TypeRef>,
    /// The name as users write it, once it is known.
    pub(crate) shown: OnceCell<String>,
}

/// What a value of a type consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// A number, or anything without parts.
    Scalar,
    /// An address of a value of this type; `None` if the type is unknown.
    Pointer(Option<TypeRef>),
    /// Equal elements, side by side.
    Array(TypeRef, u64),
    /// All of these members.
    Struct(Vec<Member>),
    /// Any of these members.
    Union(Vec<Member>),
    /// One of several variants.
    Enum(Enum),
    /// A number with a name for each value.
    Names(Vec<(u64, String)>),
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name; `__0` and so on in tuples.
    pub name: String,
    /// Where the part is, in bytes from the start of the value.
    pub offset: u64,
    /// The type of the part.
    pub of: TypeRef,
}

/// A type with variants. The bodies of async functions are such types too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enum {
    /// The offset and the size, in bytes, of the number that says which variant a value has. `None` if there is
    /// only one variant, which needs no number.
    pub discriminant: Option<(u64, u64)>,
    /// The variants.
    pub variants: Vec<Variant>,
}

/// A variant of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The discriminants of this variant.
    pub numbers: VariantNumbers,
    /// The contents.
    pub member: Member,
    /// Path of the source file in which the variant is declared; empty if unknown.
    pub file: String,
    /// The line that declares the variant or, in an async function, the line of the `.await`. 0 if unknown.
    pub line: u32,
}

/// Which numbers mean a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantNumbers {
    /// This number.
    Is(u64),
    /// All numbers that mean no other variant.
    Others,
    /// Numbers that are not understood.
    Unknown,
}

impl Type {
    /// The members of a struct. Empty for all other types.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            TypeKind::Struct(members) => members,
            _ => &[],
        }
    }

    /// The variants; empty if there are none.
    pub fn variants(&self) -> &[Variant] {
        match &self.kind {
            TypeKind::Enum(of) => &of.variants,
            _ => &[],
        }
    }

    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        let members = match &self.kind {
            TypeKind::Struct(members) | TypeKind::Union(members) => members,
            _ => return None,
        };
        members.iter().find(|member| member.name == name)
    }
}

impl Enum {
    /// The index of the variant that has this discriminant. `None` if no variant has it, or if the discriminants
    /// of some variant are unknown.
    pub fn variant(&self, number: u64) -> Option<usize> {
        if let Some(index) = self.with_numbers(VariantNumbers::Is(number)) {
            return Some(index);
        }
        if self.with_numbers(VariantNumbers::Unknown).is_some() {
            return None;
        }
        self.with_numbers(VariantNumbers::Others)
    }

    fn with_numbers(&self, numbers: VariantNumbers) -> Option<usize> {
        let mut variants = self.variants.iter();
        variants.position(|variant| variant.numbers == numbers)
    }
}
