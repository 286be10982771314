//! The debug info of a module: inlined frames, file, line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use addr2line::Context;
use gimli::{DebuggingInformationEntry, UnitOffset, UnitRef};
use object::{CompressionFormat, Object, ObjectSection};

use crate::addr::Svma;
use crate::demangle::unmangled;
use crate::path::with_last_body;
use crate::split::Split;
use crate::tidy::tidy;

/// Shares the bytes that it reads, so that it can be kept next to them.
pub(crate) type Reader = gimli::EndianArcSlice<gimli::RunTimeEndian>;

pub(crate) struct Dwarf {
    sections: Arc<gimli::Dwarf<Reader>>,
    context: Context<Reader>,
    split: Split,
    /// What linker names were made into, each once.
    names: RefCell<HashMap<Box<str>, Name>>,
}

/// A function as far as DWARF names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    /// With its path, for people.
    Full(String),
    /// The last part of the path only, as the compiler spells it.
    Short(String),
}

/// One frame at an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    pub(crate) name: Option<Name>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
}

impl Name {
    /// The full name that a symbol gives to the function that DWARF calls `short`, unless they contradict each other.
    pub(crate) fn extended(symbol: &str, short: &str) -> Option<Self> {
        let is_body = short.starts_with('{') && symbol.ends_with('}');
        if is_body {
            return Some(Self::Full(tidy(&with_last_body(symbol, short))));
        }
        let is_same = plain(last_part(symbol)) == plain(short);
        is_same.then(|| Self::Full(tidy(symbol)))
    }

    pub(crate) fn into_shown(self) -> String {
        match self {
            Self::Full(name) => name,
            Self::Short(name) => tidy(&name),
        }
    }
}

/// Behind the last `::` that is not in brackets.
fn last_part(name: &str) -> &str {
    let mut depth = 0i32;
    let mut start = 0;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth -= 1,
            b':' if depth == 0 && !name[at + 1..].starts_with([':', '<']) => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// Without generic arguments and parameters.
fn plain(part: &str) -> &str {
    part.split(['<', '(', ':']).next().unwrap_or(part)
}

impl Dwarf {
    /// `None` if there is none, or none that can be read.
    pub(crate) fn load(
        image: &Arc<[u8]>,
        supplement: Option<&Arc<[u8]>>,
        split: Split,
    ) -> Option<Self> {
        let object = object::File::parse(&**image).ok()?;
        let mut sections = gimli::Dwarf::load(loader(&object, image)).ok()?;
        if let Some(image) = supplement {
            let object = object::File::parse(&**image).ok()?;
            sections.load_sup(loader(&object, image)).ok()?;
        }
        let sections = Arc::new(sections);
        let context = Context::from_arc_dwarf(Arc::clone(&sections)).ok()?;
        Some(Self {
            sections,
            context,
            split,
            names: RefCell::default(),
        })
    }

    pub(crate) fn sections(&self) -> &gimli::Dwarf<Reader> {
        &self.sections
    }

    /// Innermost first; empty where nothing is known.
    ///
    /// What is damaged ends the list: the frames before it are still true.
    pub(crate) fn frames(&self, address: Svma) -> Vec<Located> {
        let mut located = Vec::new();
        // The reader of line tables adds 1 to an address. Code never lies at this one.
        if address == Svma(u64::MAX) {
            return located;
        }
        let Ok(mut frames) = self.split.answer(self.context.find_frames(address.0)) else {
            return located;
        };
        while let Ok(Some(frame)) = frames.next() {
            located.push(self.locate(&frame, address));
        }
        located
    }

    fn locate(&self, frame: &addr2line::Frame<'_, Reader>, address: Svma) -> Located {
        let location = frame.location.as_ref();
        Located {
            name: self.name(frame, address),
            file: location.and_then(|l| l.file).map(str::to_owned),
            line: location.and_then(|l| l.line),
            column: location
                .and_then(|l| l.column)
                .filter(|&column| column != 0),
        }
    }

    fn name(&self, frame: &addr2line::Frame<'_, Reader>, address: Svma) -> Option<Name> {
        let raw = frame.function.as_ref()?.raw_name().ok()?;
        if let Some(known) = self.names.borrow().get(&*raw) {
            return Some(known.clone());
        }
        let name = self.name_of(&raw, frame.dw_die_offset, address);
        self.names.borrow_mut().insert((*raw).into(), name.clone());
        Some(name)
    }

    fn name_of(&self, raw: &str, entry: Option<UnitOffset>, address: Svma) -> Name {
        let name = unmangled(raw);
        if name == raw {
            return Name::Short(name);
        }
        // A mangled closure may be the body of an `async fn`; the entry's own name says so.
        let is_body = name.ends_with('}');
        let own = entry.filter(|_| is_body);
        match own.and_then(|entry| self.entry_name(entry, address)) {
            Some(own) => Name::Full(tidy(&with_last_body(&name, &own))),
            None => Name::Full(tidy(&name)),
        }
    }

    /// The unmangled name of an entry of the unit that covers the address.
    fn entry_name(&self, mut offset: UnitOffset, address: Svma) -> Option<String> {
        let unit = self
            .split
            .answer(self.context.find_dwarf_and_unit(address.0))?;
        for _ in 0..LONGEST_CHAIN {
            let entry = unit.entry(offset).ok()?;
            if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
                let name = unit.attr_string(name).ok()?;
                return gimli::Reader::to_string_lossy(&name).ok().map(String::from);
            }
            offset = origin(&entry, &unit)?;
        }
        None
    }
}

/// An inlined call refers to a function, which may refer to a declaration; damaged data may refer to itself.
const LONGEST_CHAIN: usize = 8;

fn origin(
    entry: &DebuggingInformationEntry<Reader>,
    unit: &UnitRef<'_, Reader>,
) -> Option<UnitOffset> {
    let origin = entry
        .attr_value(gimli::DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
    match origin {
        gimli::AttributeValue::UnitRef(offset) => Some(offset),
        gimli::AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

type Loaded = Result<Reader, gimli::Error>;

fn loader(object: &object::File<'_>, image: &Arc<[u8]>) -> impl FnMut(gimli::SectionId) -> Loaded {
    let whole = reader_of(object, image);
    move |id| Ok(section(object, id.name(), &whole).unwrap_or_else(|| whole.range(0..0)))
}

/// All bytes of a file, in the order of its target's.
pub(crate) fn reader_of(object: &object::File<'_>, image: &Arc<[u8]>) -> Reader {
    let endian = match object.is_little_endian() {
        true => gimli::RunTimeEndian::Little,
        false => gimli::RunTimeEndian::Big,
    };
    Reader::new(Arc::clone(image), endian)
}

/// A debug section: a view of the file, or a decompressed copy.
pub(crate) fn section(object: &object::File<'_>, name: &str, whole: &Reader) -> Option<Reader> {
    let section = object.section_by_name(name)?;
    let stored = section.compressed_file_range().ok()?;
    if stored.format != CompressionFormat::None {
        if !can_hold(stored.compressed_size, stored.uncompressed_size) {
            return None;
        }
        let bytes = section.uncompressed_data().ok()?;
        return Some(Reader::new(bytes.into(), gimli::Reader::endian(whole)));
    }
    // Not for sections that are empty or have been stripped from the file.
    let start = usize::try_from(stored.offset).ok()?;
    let end = start.checked_add(usize::try_from(stored.compressed_size).ok()?)?;
    whole.bytes().get(start..end)?;
    Some(whole.range(start..end))
}

/// Can so many bytes unpack to so many? A damaged file may state any size, and room for all of it
/// would be made.
fn can_hold(compressed: u64, uncompressed: u64) -> bool {
    uncompressed / MOST_PER_BYTE <= compressed
}

/// What a byte of deflate unpacks to at most; debug info comes nowhere near it in any format.
const MOST_PER_BYTE: u64 = 1032;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressed_section_cannot_state_more_than_it_can_hold() {
        assert!(can_hold(0, 0));
        assert!(can_hold(1000, 30_000));
        assert!(!can_hold(1000, 8 << 30));
        assert!(!can_hold(1, u64::MAX));
    }

    fn full(symbol: &str, short: &str) -> Option<String> {
        Name::extended(symbol, short).map(Name::into_shown)
    }

    #[test]
    fn a_symbol_completes_a_short_name() {
        assert_eq!(full("a::f", "f").as_deref(), Some("a::f"));
        assert_eq!(full("a::f::<u8>", "f<u8>").as_deref(), Some("a::f::<u8>"));
        assert_eq!(
            full("<a::S as b::T<a::b>>::m", "m").as_deref(),
            Some("<a::S as b::T<a::b>>::m")
        );
        assert_eq!(
            full("pool::grow(int)", "grow").as_deref(),
            Some("pool::grow(int)")
        );
        assert_eq!(
            full("a::f::{{closure}}", "{async_fn#0}").as_deref(),
            Some("a::f")
        );
        assert_eq!(
            full("a::f::{{closure}}", "{closure#0}").as_deref(),
            Some("closure in a::f")
        );
    }

    #[test]
    fn a_symbol_of_a_merged_twin_does_not() {
        assert_eq!(full("a::twin", "f"), None);
        assert_eq!(full("a::f", "{closure#0}"), None);
        assert_eq!(full("a::f::{{closure}}", "f"), None);
    }
}
