//! Looks up addresses in the debug info of a module: function names, inlined calls, files and lines.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use addr2line::Context;
use gimli::{DebuggingInformationEntry, UnitOffset, UnitRef};
use self_cell::self_cell;

use crate::addr::Svma;
use crate::cost::Costs;
use crate::demangle::{bounded, unmangled};
use crate::file::image::Image;
use crate::name::Name;
use crate::path::with_last_body;
use crate::search_paths::SearchPaths;
use crate::sections::{Images, Reader, Sections};
use crate::split::Split;
use crate::tidy::tidy;

pub(crate) struct Dwarf {
    loaded: Loaded,
    known: Known,
}

/// A cache of names and paths that were made from texts in the debug info. The key is the location of the
/// text in memory, which is stable: neither the images nor the parsed line tables move.
#[derive(Default)]
struct Known {
    names: RefCell<HashMap<TextLocation, Name>>,
    files: RefCell<HashMap<TextLocation, Arc<str>>>,
}

/// The address and the length of a text in memory, in bytes.
type TextLocation = (usize, usize);

fn location_of(text: &[u8]) -> TextLocation {
    (text.as_ptr().addr(), text.len())
}

self_cell!(
    /// Debug info together with the files that the debug info borrows from.
    struct Loaded {
        owner: Images,
        #[not_covariant]
        dependent: Info,
    }
);

struct Info<'i> {
    sections: Arc<gimli::Dwarf<Reader<'i>>>,
    context: Context<Reader<'i>>,
    costs: Costs,
    /// The costs of the parts that `dwz` moved to a supplementary file.
    _common_costs: Option<Costs>,
    split: Split<'i>,
}

/// A frame at an address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Located {
    pub(crate) name: Option<Name>,
    pub(crate) file: Option<Arc<str>>,
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
}

impl Dwarf {
    /// Loads the debug info of the program at this path. `None` if there is none, or if it cannot be read.
    pub(crate) fn load(
        image: Image,
        supplement: Option<Image>,
        program: &Path,
        search_paths: &SearchPaths,
    ) -> Option<Self> {
        let loaded = Loaded::try_new(Images::default(), |images| {
            let split = Split::of(program, search_paths, images);
            Info::load(image, supplement, split, images).ok_or(())
        });
        Some(Self {
            loaded: loaded.ok()?,
            known: Known::default(),
        })
    }

    pub(crate) fn with_sections<T>(&self, read: impl FnOnce(&gimli::Dwarf<Reader<'_>>) -> T) -> T {
        self.loaded.with_dependent(|_, info| read(&info.sections))
    }

    /// The frames at an address, innermost first: inlined calls, then the function. Empty if nothing is known.
    ///
    /// If the debug info is damaged, the outer frames may be missing.
    pub(crate) fn frames(&self, address: Svma) -> Vec<Located> {
        // The reader of line tables adds 1 to an address. No code lies at the largest address.
        if address == Svma(u64::MAX) {
            return Vec::new();
        }
        self.loaded.with_dependent(|images, info| {
            let lookup = AddressLookup {
                info,
                images,
                address,
            };
            lookup.frames(&self.known)
        })
    }
}

impl Known {
    fn file(&self, path: &str) -> Arc<str> {
        let mut files = self.files.borrow_mut();
        Arc::clone(
            files
                .entry(location_of(path.as_bytes()))
                .or_insert_with(|| path.into()),
        )
    }
}

impl<'i> Info<'i> {
    fn load(
        image: Image,
        supplement: Option<Image>,
        split: Split<'i>,
        images: &'i Images,
    ) -> Option<Self> {
        let file = Sections::of(image, images)?;
        let mut sections = gimli::Dwarf::load(file.whole()).ok()?;
        file.close()?;
        let mut common_costs = None;
        if let Some(image) = supplement {
            let file = Sections::of(image, images)?;
            let mut common = gimli::Dwarf::load(file.whole()).ok()?;
            file.close()?;
            common_costs = Some(Costs::of_units(&mut common, file.file())?);
            sections.set_sup(common);
        }
        let costs = Costs::of_units(&mut sections, file.file())?;
        let sections = Arc::new(sections);
        let context = Context::from_arc_dwarf(Arc::clone(&sections)).ok()?;
        Some(Self {
            sections,
            context,
            costs,
            _common_costs: common_costs,
            split,
        })
    }
}

/// The lookup of an address.
struct AddressLookup<'d, 'i> {
    info: &'d Info<'i>,
    images: &'i Images,
    address: Svma,
}

impl<'i> AddressLookup<'_, 'i> {
    fn frames(&self, known: &Known) -> Vec<Located> {
        let mut located = Vec::new();
        if !self.is_affordable() {
            return located;
        }
        let found = self.info.context.find_frames(self.address.0);
        let Ok(mut frames) = self.info.split.complete(found, self.images) else {
            return located;
        };
        while let Ok(Some(frame)) = frames.next() {
            located.push(self.locate(&frame, known));
        }
        located
    }

    /// Whether the budget has room for the tables that a lookup makes from the units at the address.
    fn is_affordable(&self) -> bool {
        let info = self.info;
        info.costs.admit(self.address, &info.sections, || {
            let found = info.context.find_dwarf_and_unit(self.address.0);
            info.split.complete(found, self.images)
        })
    }

    fn locate(&self, frame: &addr2line::Frame<'_, Reader<'i>>, known: &Known) -> Located {
        let location = frame.location.as_ref();
        let column = location.and_then(|location| location.column);
        Located {
            name: self.name(frame, known),
            file: location
                .and_then(|location| location.file)
                .map(|text| known.file(text)),
            line: location.and_then(|location| location.line),
            column: column.filter(|&column| column != 0),
        }
    }

    fn name(&self, frame: &addr2line::Frame<'_, Reader<'i>>, known: &Known) -> Option<Name> {
        let function = frame.function.as_ref()?;
        let text = location_of(function.name.slice());
        if let Some(known) = known.names.borrow().get(&text) {
            return Some(known.clone());
        }
        let name = self.name_of(&function.raw_name().ok()?, frame.dw_die_offset);
        known.names.borrow_mut().insert(text, name.clone());
        Some(name)
    }

    fn name_of(&self, raw: &str, entry: Option<UnitOffset>) -> Name {
        let raw = bounded(raw);
        let name = unmangled(raw);
        if name == raw {
            return Name::Short(name.into());
        }
        // A mangled closure may be the body of an `async fn`; the entry's own name says so.
        let is_body = name.ends_with('}');
        let own = entry.filter(|_| is_body);
        match own.and_then(|entry| self.entry_name(entry)) {
            Some(own) => Name::Full(tidy(&with_last_body(&name, &own)).into()),
            None => Name::Full(tidy(&name).into()),
        }
    }

    /// The unmangled name of an entry of the unit that covers the address.
    fn entry_name(&self, mut offset: UnitOffset) -> Option<String> {
        let found = self.info.context.find_dwarf_and_unit(self.address.0);
        let unit = self.info.split.complete(found, self.images)?;
        for _ in 0..MAX_CHAIN {
            let entry = unit.entry(offset).ok()?;
            if let Some(name) = entry.attr_value(gimli::DW_AT_name) {
                let name = unit.attr_string(name).ok()?;
                return Some(bounded(&name.to_string_lossy()).to_owned());
            }
            offset = origin(&entry, &unit)?;
        }
        None
    }
}

/// How many references are followed to find a name. An inlined call refers to a function, which may refer to a
/// declaration. Damaged data may refer to itself.
const MAX_CHAIN: usize = 8;

fn origin<'i>(
    entry: &DebuggingInformationEntry<Reader<'i>>,
    unit: &UnitRef<'_, Reader<'i>>,
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
