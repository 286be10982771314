//! [`functions_with`]: finds functions by a part of their mangled names.

use crate::addr::Avma;
use crate::error::Miss;
use crate::mapping::Mapping;
use crate::module::Module;
use crate::search_paths::SearchPaths;

/// A function of a symbol table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedFunction {
    /// Where the function begins.
    pub address: Avma,
    /// The mangled name.
    pub name: String,
}

/// The functions in a mapping whose mangled names contain one of `parts`, sorted by address. Each part begins with a
/// dot. The symbols may be in the file, or in its separate debug file.
///
/// # Errors
///
/// The file cannot be read. The [`Miss`] has the reason.
pub fn functions_with(
    mapping: &Mapping,
    parts: &[&str],
    search_paths: &SearchPaths,
) -> Result<Vec<NamedFunction>, Miss> {
    let module = Module::open(mapping, search_paths)?;
    let functions = module.functions_with(parts).into_iter();
    let functions = functions.filter_map(|(address, name)| {
        let address = module.avma(address, mapping)?;
        Some(NamedFunction { address, name })
    });
    Ok(functions.collect())
}
