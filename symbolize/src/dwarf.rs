//! The debug info of a module: inlined frames, file, line.

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
use crate::places::Places;
use crate::sections::{Images, Reader, Sections};
use crate::split::Split;
use crate::tidy::tidy;

pub(crate) struct Dwarf {
    loaded: Loaded,
    known: Known,
}

/// Names and paths made from texts of the debug info, each once. The key is the location of the text in
/// memory, which is stable: neither the images nor the parsed line tables move.
#[derive(Default)]
struct Known {
    names: RefCell<HashMap<Lying, Name>>,
    files: RefCell<HashMap<Lying, Arc<str>>>,
}

/// The start of a text in memory, and the length in bytes.
type Lying = (usize, usize);

fn lying(text: &[u8]) -> Lying {
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
    /// Loads the debug info of the program at this path; `None` if there is none, or none that can be read.
    pub(crate) fn load(
        image: Image,
        supplement: Option<Image>,
        program: &Path,
        places: &Places,
    ) -> Option<Self> {
        let loaded = Loaded::try_new(Images::default(), |images| {
            let split = Split::of(program, places, images);
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

    /// Innermost first; empty where nothing is known.
    ///
    /// Damaged data ends the list; the frames up to there are valid.
    pub(crate) fn frames(&self, address: Svma) -> Vec<Located> {
        // The reader of line tables adds 1 to an address. No code lies at the largest address.
        if address == Svma(u64::MAX) {
            return Vec::new();
        }
        self.loaded.with_dependent(|images, info| {
            let place = Place {
                info,
                images,
                address,
            };
            place.frames(&self.known)
        })
    }
}

impl Known {
    fn file(&self, path: &str) -> Arc<str> {
        let mut files = self.files.borrow_mut();
        Arc::clone(
            files
                .entry(lying(path.as_bytes()))
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

/// An address that is looked up.
struct Place<'d, 'i> {
    info: &'d Info<'i>,
    images: &'i Images,
    address: Svma,
}

impl<'i> Place<'_, 'i> {
    fn frames(&self, known: &Known) -> Vec<Located> {
        let mut located = Vec::new();
        if !self.is_affordable() {
            return located;
        }
        let found = self.info.context.find_frames(self.address.0);
        let Ok(mut frames) = self.info.split.answer(found, self.images) else {
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
            info.split.answer(found, self.images)
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
        let lying = lying(function.name.slice());
        if let Some(known) = known.names.borrow().get(&lying) {
            return Some(known.clone());
        }
        let name = self.name_of(&function.raw_name().ok()?, frame.dw_die_offset);
        known.names.borrow_mut().insert(lying, name.clone());
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
        let unit = self.info.split.answer(found, self.images)?;
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

/// An inlined call refers to a function, which may refer to a declaration; damaged data may refer to itself.
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
