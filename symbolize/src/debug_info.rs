//! [`DebugInfo`]: the parsed units of a module, for readers that need types rather than lines.

use gimli::{Unit, UnitRef};
use self_cell::self_cell;

use crate::addr::{Avma, Svma};
use crate::cost::Costs;
use crate::error::Miss;
use crate::mapping::Mapping;
use crate::module::Module;
use crate::search_paths::SearchPaths;
use crate::sections::{Images, Reader, Sections};
use crate::split::Split;

/// Reads DWARF in memory that [`DebugInfo`] owns.
pub type DebugReader<'i> = Reader<'i>;

/// The debug info of a module.
///
/// The sections are in memory, which is charged to the budget of the [`SearchPaths`]. The debug info may be in the file
/// itself, in a separate file, or split into `.dwo` and `.dwp` files.
pub struct DebugInfo {
    module: Module,
    loaded: Loaded,
}

self_cell!(
    /// The sections together with the files that the sections borrow from.
    struct Loaded {
        owner: Images,
        #[not_covariant]
        dependent: Parts,
    }
);

/// The debug info in the file itself, and in the split files.
struct Parts<'i> {
    /// The first part is the file itself.
    parts: Vec<Part<'i>>,
    /// For each unit: the index of its part, and its index in the units of that part.
    unit_indices: Vec<(usize, usize)>,
    _costs: Costs,
}

struct Part<'i> {
    sections: gimli::Dwarf<Reader<'i>>,
    units: Vec<Unit<Reader<'i>>>,
}

impl DebugInfo {
    /// Reads the debug info of the file of a mapping.
    ///
    /// Returns `None` if the file has no debug info, or if the budget has too little room.
    ///
    /// # Errors
    ///
    /// The file cannot be read. The [`Miss`] has the reason.
    pub fn open(mapping: &Mapping, search_paths: &SearchPaths) -> Result<Option<Self>, Miss> {
        let module = Module::open(mapping, search_paths)?;
        let Some(image) = module.debug_image() else {
            return Ok(None);
        };
        let loaded = Loaded::try_new(Images::default(), |images| {
            let split = Split::of(module.path(), search_paths, images);
            let sections = Sections::of(image, images).ok_or(())?;
            Parts::load(&sections, &split, images).ok_or(())
        });
        Ok(loaded.ok().map(|loaded| Self { module, loaded }))
    }

    /// The number of units, including those of split parts.
    pub fn unit_count(&self) -> usize {
        self.loaded
            .with_dependent(|_, parts| parts.unit_indices.len())
    }

    /// Calls `read` with the number of the part that contains the unit, and the unit. Returns the result, or `None`
    /// if there is no unit with this number. Offsets into `.debug_info` are only valid within the same part.
    pub fn with_unit<T>(
        &self,
        number: usize,
        read: impl for<'u> FnOnce(usize, UnitRef<'u, DebugReader<'u>>) -> T,
    ) -> Option<T> {
        self.loaded.with_dependent(|_, parts| {
            let (part, index) = *parts.unit_indices.get(number)?;
            let Part { sections, units } = &parts.parts[part];
            Some(read(part, units[index].unit_ref(sections)))
        })
    }

    /// Converts an address in a mapping of the file to the address that the file's tables have for it.
    ///
    /// # Errors
    ///
    /// No segment of the file is loaded at the address.
    pub fn svma(&self, address: Avma, mapping: &Mapping) -> Result<Svma, Miss> {
        self.module.svma(address, mapping)
    }
}

impl<'i> Parts<'i> {
    fn load(file: &Sections<'i>, split: &Split<'i>, images: &'i Images) -> Option<Self> {
        let mut sections = gimli::Dwarf::load(file.with_variables()).ok()?;
        file.close()?;
        let costs = Costs::of_units(&mut sections, file.file())?;
        let own = Part::of(sections);
        let mut parts: Vec<_> = own
            .units
            .iter()
            .filter_map(|skeleton| Part::split_from(skeleton, &own.sections, split, images))
            .collect();
        parts.insert(0, own);
        let numbered = parts.iter().enumerate();
        let unit_indices = numbered
            .flat_map(|(index, part)| (0..part.units.len()).map(move |unit| (index, unit)))
            .collect();
        Some(Self {
            unit_indices,
            parts,
            _costs: costs,
        })
    }
}

impl<'i> Part<'i> {
    fn of(sections: gimli::Dwarf<Reader<'i>>) -> Self {
        let mut units = Vec::new();
        let mut headers = sections.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(sections.unit(header));
        }
        Self { sections, units }
    }

    /// The part that was split off a unit of the file itself.
    fn split_from(
        skeleton: &Unit<Reader<'i>>,
        parent: &gimli::Dwarf<Reader<'i>>,
        split: &Split<'i>,
        images: &'i Images,
    ) -> Option<Self> {
        let sections = split.part_of(skeleton.unit_ref(parent), images)?;
        let mut part = Self::of(sections);
        for unit in &mut part.units {
            unit.copy_relocated_attributes(skeleton);
        }
        Some(part)
    }
}
