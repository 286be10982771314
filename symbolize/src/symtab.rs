//! The symbol tables of a module: they give names to functions without DWARF.

use std::sync::Arc;

use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};

use crate::addr::Svma;
use crate::file::budget::{Budget, Charge};
use crate::file::image::Image;

/// Function symbols in order of their address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable {
    symbols: Vec<Symbol>,
    /// The memory that the symbols take, which is charged to the budget.
    _charge: Option<Charge>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Symbol {
    start: Svma,
    /// The field order is the order of preference among symbols with the same address.
    is_reserved: bool,
    is_local: bool,
    name: Box<str>,
    end: Svma,
}

impl SymbolTable {
    /// Loads the symbols of a binary and of the separate debug file. If the symbols of a file do not all
    /// fit into the budget, that file is left out: a lookup depends on the neighboring symbols.
    pub(crate) fn load(images: Vec<Image>, budget: &Arc<Budget>) -> Self {
        let mut charge = Charge::none(budget);
        let mut symbols = Vec::new();
        for image in images {
            let before = symbols.len();
            if !read_symbols(&image, &mut symbols, &mut charge) {
                symbols.truncate(before);
                budget.refuse(&image.file().path, image.file().bytes());
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        bound_sizeless(&mut symbols);
        Self {
            symbols,
            _charge: Some(charge),
        }
    }

    /// A key for the names at an address: the start of the last preceding symbol, and the number of
    /// symbols with this start that reach the address. Addresses with the same key have the same names.
    pub(crate) fn group_at(&self, address: Svma) -> (Option<Svma>, usize) {
        let names = self.names_at(address).take(MAX_NAMES);
        (self.start_at(address), names.count())
    }

    fn start_at(&self, address: Svma) -> Option<Svma> {
        let after = self.symbols.partition_point(|s| s.start <= address);
        self.symbols[..after].last().map(|s| s.start)
    }

    /// The mangled names of the function at this address, in the order of preference.
    pub(crate) fn names_at(&self, address: Svma) -> impl Iterator<Item = &str> {
        let after = self.symbols.partition_point(|s| s.start <= address);
        let start = self.start_at(address);
        let first = self.symbols[..after].partition_point(|s| Some(s.start) < start);
        self.symbols[first..after]
            .iter()
            .filter(move |s| address < s.end)
            .map(|s| &*s.name)
    }
}

/// The functions of a file whose mangled names contain one of `parts`. The tables of names are searched first, so a file
/// without such a name costs little.
pub(crate) fn functions_with(image: &Image, parts: &[&str]) -> Vec<(Svma, String)> {
    let Ok(object) = object::File::parse(image) else {
        return Vec::new();
    };
    let has_part = |table| {
        let section = object.section_by_name(table);
        let names = section.and_then(|section| section.data().ok());
        names.is_some_and(|names| contains_any(names, parts))
    };
    if ![".strtab", ".dynstr"].into_iter().any(has_part) {
        return Vec::new();
    }
    let symbols = object.symbols().chain(object.dynamic_symbols());
    let functions = symbols.filter(|symbol| {
        let name = symbol.name_bytes().unwrap_or_default();
        name.len() <= MAX_NAME_BYTES && contains_any(name, parts)
    });
    let functions = functions.filter_map(|symbol| function(&object, &symbol));
    let functions = functions.map(|symbol| (symbol.start, symbol.name.into()));
    functions.take(MAX_FUNCTIONS).collect()
}

/// The maximum number of functions that are found by a part of their names, and the longest such name.
const MAX_FUNCTIONS: usize = 1 << 18;
const MAX_NAME_BYTES: usize = 4096;

/// Whether the bytes contain one of `parts`, each of which begins with a dot.
fn contains_any(bytes: &[u8], parts: &[&str]) -> bool {
    let mut rest = bytes;
    while let Some(dot) = rest.iter().position(|byte| *byte == b'.') {
        rest = &rest[dot..];
        if parts.iter().any(|part| rest.starts_with(part.as_bytes())) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// How many names of a function are considered. In a hostile table all symbols begin at the same address.
const MAX_NAMES: usize = 1024;

/// Adds the function symbols of a file. Returns false if the budget has no room for all of them.
fn read_symbols(image: &Image, symbols: &mut Vec<Symbol>, charge: &mut Charge) -> bool {
    let Ok(object) = object::File::parse(image) else {
        return true;
    };
    // Reads each table of names as a whole. Otherwise each name would be a read of its own.
    for names in [".strtab", ".dynstr"] {
        if let Some(section) = object.section_by_name(names) {
            let _ = section.data();
        }
    }
    for symbol in object.symbols().chain(object.dynamic_symbols()) {
        let Some(symbol) = function(&object, &symbol) else {
            continue;
        };
        if !charge.take(PER_SYMBOL_BYTES + symbol.name.len() as u64) {
            return false;
        }
        symbols.push(symbol);
    }
    true
}

/// The charge for a symbol, with what the allocator adds to a name, and spare room of the table.
const PER_SYMBOL_BYTES: u64 = 2 * size_of::<Symbol>() as u64 + 16;

fn function<'i>(
    object: &object::File<'i, &'i Image>,
    symbol: &object::Symbol<'i, '_, &'i Image>,
) -> Option<Symbol> {
    // Local symbols without a type are labels inside a function.
    let may_be_function = symbol.kind() == SymbolKind::Text
        || (symbol.kind() == SymbolKind::Unknown && symbol.is_global());
    if !may_be_function {
        return None;
    }
    let section = object.section_by_index(symbol.section_index()?).ok()?;
    if !is_code(section.flags()) {
        return None;
    }
    let name = symbol.name().ok()?;
    if name.is_empty() || name.starts_with(['$', '.']) {
        return None;
    }
    let end = match symbol.size() {
        0 => section.address().saturating_add(section.size()),
        size => symbol.address().saturating_add(size),
    };
    Some(Symbol {
        start: Svma(symbol.address()),
        is_reserved: is_reserved(name),
        is_local: symbol.is_local(),
        name: name.into(),
        end: Svma(end),
    })
}

/// Whether a section has code, by its flags. The type of the section would not do: it differs in a separate debug
/// file, where the section has no bytes.
fn is_code(flags: SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & elf::SHF_EXECINSTR.0 != 0)
}

/// Whether a name begins with an underscore and is not mangled. Such a name is often an alias: `_IO_puts` is another
/// name of `puts`. Names without the underscore are preferred.
fn is_reserved(name: &str) -> bool {
    name.starts_with('_') && !name.starts_with("_Z") && !name.starts_with("_R")
}

/// Ends each symbol where the next begins, at the latest. This bounds symbols without a size (from assembly), which
/// until then extend to the end of the section.
fn bound_sizeless(symbols: &mut [Symbol]) {
    let mut next_start = Svma(u64::MAX);
    let mut current = Svma(u64::MAX);
    for symbol in symbols.iter_mut().rev() {
        if symbol.start != current {
            (next_start, current) = (current, symbol.start);
        }
        symbol.end = symbol.end.min(next_start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(start: u64, end: u64, name: &str) -> Symbol {
        Symbol {
            start: Svma(start),
            is_reserved: is_reserved(name),
            is_local: false,
            name: name.into(),
            end: Svma(end),
        }
    }

    fn table(mut symbols: Vec<Symbol>) -> SymbolTable {
        symbols.sort_unstable();
        bound_sizeless(&mut symbols);
        SymbolTable {
            symbols,
            _charge: None,
        }
    }

    fn first(table: &SymbolTable, address: u64) -> Option<&str> {
        table.names_at(Svma(address)).next()
    }

    #[test]
    fn an_alias_for_people_comes_before_a_reserved_name() {
        let table = table(vec![
            symbol(0x10, 0x20, "__libc_malloc"),
            symbol(0x10, 0x20, "malloc"),
        ]);
        assert_eq!(first(&table, 0x1f), Some("malloc"));
        assert_eq!(table.names_at(Svma(0x1f)).count(), 2);
    }

    #[test]
    fn parts_of_names_are_found() {
        let parts = [".resume", ".actor"];
        assert!(contains_any(b"a\0.b\0_Z1fv.resume\0", &parts));
        assert!(contains_any(b"..actor.lto_priv.0", &parts));
        assert!(!contains_any(b"resume\0.act\0or", &parts));
    }

    #[test]
    fn a_gap_between_functions_has_no_name() {
        let table = table(vec![symbol(0x10, 0x18, "a"), symbol(0x20, 0x30, "b")]);
        assert_eq!(first(&table, 0x0f), None);
        assert_eq!(first(&table, 0x17), Some("a"));
        assert_eq!(first(&table, 0x18), None);
        assert_eq!(first(&table, 0x30), None);
        assert_eq!(first(&SymbolTable::default(), 0x30), None);
    }

    #[test]
    fn a_symbol_without_size_ends_at_the_next() {
        let table = table(vec![symbol(0x10, 0x100, "_start"), symbol(0x20, 0x30, "b")]);
        assert_eq!(first(&table, 0x1f), Some("_start"));
        assert_eq!(first(&table, 0x20), Some("b"));
    }
}
