//! What the debug info says about static memory: vtables for `dyn Future`, and static variables.

use symbolize::Avma;

use super::module::{Module, Target, name_of};
use super::{TypeRef, Types, in_symbolize};
use crate::target::Target as Process;

/// A static variable that was found by an address in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticVariable {
    /// The path, such as `app::QUEUE`.
    pub name: String,
    /// Where the variable begins.
    pub address: u64,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl Types {
    /// The addresses of the vtables for `dyn Future` in the module that has data at `address`. `None` if the module has no
    /// debug info.
    pub fn future_vtables(&self, process: &dyn Process, address: u64) -> Option<Vec<u64>> {
        let (_, module, stated) = self.stated(process, address)?;
        let distance = address.wrapping_sub(stated);
        let vtables = module.future_vtables();
        let vtables = vtables.map(|vtable| vtable.wrapping_add(distance));
        Some(vtables.collect())
    }

    /// The static variable with this address.
    pub fn static_at(&self, process: &dyn Process, address: u64) -> Option<StaticVariable> {
        let mappings = process.mappings();
        // Variables without contents in the file lie behind the file's last mapping.
        let after = mappings.partition_point(|mapping| mapping.start <= address);
        let last = mappings[..after]
            .iter()
            .rfind(|mapping| mapping.has_file())?;
        let first = mappings.iter().find(|mapping| mapping.file == last.file)?;
        let number = self.open(process, first)?;
        let module = self.module(number);
        let start = module.stated(Avma(first.start), &in_symbolize(process, first))?;
        let distance = first.start.wrapping_sub(start);
        let (stated, name, of) = module.static_at(address.wrapping_sub(distance))?;
        let size_bytes = self.layout(TypeRef::new(number, of))?.size;
        let found = StaticVariable {
            name,
            address: stated.wrapping_add(distance),
            size_bytes,
        };
        (address.wrapping_sub(found.address) < size_bytes).then_some(found)
    }
}

impl Module {
    fn future_vtables(&self) -> impl Iterator<Item = u64> {
        self.index().future_vtables.iter().copied()
    }

    /// The last static variable that begins at or before an address: its own address, its path and its type.
    fn static_at(&self, address: u64) -> Option<(u64, String, super::Entry)> {
        let (start, entry) = self.index().statics.range(..=address).next_back()?;
        let (name, of) = self.with_entry(*entry, |_, unit, die| {
            let of = Target::of(&die.attr_value(gimli::DW_AT_type)?)?;
            Some((name_of(unit, &die)?, of))
        })??;
        let scope = self.scope(*entry);
        let path = if scope.is_empty() {
            name
        } else {
            format!("{scope}::{name}")
        };
        Some((*start, path, self.resolve(*entry, of)?))
    }
}
