//! [`Modules`]: the program and its libraries, as they are mapped.

use std::ops::Range;

use crate::target::mapping::Mapping;

/// The files with code that a process has mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    modules: Vec<Module>,
}

/// A mapped file with code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Path of the file, as the kernel prints it.
    pub path: Vec<u8>,
    /// The addresses of code, sorted.
    pub text: Vec<Range<u64>>,
    /// The addresses of data of the file that is readable and not executable, sorted.
    pub data: Vec<Range<u64>>,
}

impl Modules {
    /// Groups mappings by their file. Files without code are left out.
    pub fn of(mappings: &[Mapping]) -> Self {
        let mut modules: Vec<((u32, u64), Module)> = Vec::new();
        let private = mappings.iter().filter(|mapping| !mapping.is_shared);
        for mapping in private.filter(|mapping| mapping.is_readable && mapping.has_file()) {
            let index = modules.iter().position(|(file, _)| *file == mapping.file);
            let index = index.unwrap_or_else(|| {
                modules.push((mapping.file, Module::default()));
                modules.len() - 1
            });
            modules[index].1.add(mapping);
        }
        let modules = modules.into_iter().map(|(_, module)| module);
        let modules = modules.filter(|module| !module.text.is_empty()).collect();
        Modules { modules }
    }

    /// The files with code.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.modules.iter()
    }
}

impl Module {
    /// Whether code is at this address.
    pub fn is_text(&self, address: u64) -> bool {
        contains(&self.text, address)
    }

    /// Whether data is at this address.
    pub fn is_data(&self, address: u64) -> bool {
        contains(&self.data, address)
    }

    fn add(&mut self, mapping: &Mapping) {
        let range = mapping.range();
        if mapping.is_executable {
            self.text.push(range);
        } else {
            self.data.push(range);
        }
        self.path.clone_from(&mapping.path);
    }
}

fn contains(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::mapping::parse;

    #[test]
    fn mappings_are_grouped_by_file() {
        let mappings = parse(
            b"1000-2000 r--p 0 8:1 7 /app\n2000-3000 r-xp 1000 8:1 7 /app\n3000-4000 r--p 0 8:1 8 /font\n\
              4000-5000 rw-p 2000 8:1 7 /app\n5000-6000 rw-p 0 0:0 0 [heap]\n",
        );
        let modules = Modules::of(&mappings);
        assert_eq!(modules.iter().count(), 1);
        let app = modules.iter().next().expect("the program");
        assert_eq!(app.path, b"/app");
        assert!(app.is_text(0x2000) && !app.is_text(0x1000));
        assert!(app.is_data(0x4fff) && !app.is_data(0x5000));
    }
}
