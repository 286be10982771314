//! The location of a site in words: the source line if known, else module and offset. The report looks up
//! symbol names later.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ctp_trace::escape::{escaped, escaped_bytes};
use ctp_trace::record::{Module, Place, ProcessId, Record, Site, SiteId};

/// The sites and modules recorded so far.
#[derive(Debug, Default)]
pub(super) struct StuckPlaces {
    sites: HashMap<SiteId, Site>,
    modules: Vec<Module>,
}

impl StuckPlaces {
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Site(site) => drop(self.sites.insert(site.id, site.clone())),
            Record::Module(module) => self.modules.push(module.clone()),
            _ => {}
        }
    }

    /// The location on a single line, with unsafe characters escaped.
    pub fn text(&self, site: SiteId) -> String {
        let Some(site) = self.sites.get(&site) else {
            return "an unknown place".to_owned();
        };
        let text = match &site.place {
            Place::Source { file, line, .. } => format!("{file}:{line}"),
            Place::Function { name, .. } if !name.is_empty() => in_words(name).to_owned(),
            Place::Function { address, .. }
            | Place::Address(address)
            | Place::ReturnAddress(address) => self.in_module(site.process, *address),
            _ => return "an unknown place".to_owned(),
        };
        escaped(&text).into_owned()
    }

    /// The offset within the latest module mapped at this address.
    fn in_module(&self, process: ProcessId, address: u64) -> String {
        let module = self.modules.iter().rev().find(|module| {
            module.process == process && (module.start..module.end).contains(&address)
        });
        let Some(module) = module else {
            return format!("{address:#x}");
        };
        let path = Path::new(OsStr::from_bytes(&module.path));
        let name = path.file_name().unwrap_or_default();
        let offset = (address - module.start).wrapping_add(module.file_offset);
        format!("{}+{offset:#x}", escaped_bytes(name.as_bytes()))
    }
}

/// The compiler calls the body of `async fn serve` a closure in it: `serve::{{closure}}`.
fn in_words(name: &str) -> &str {
    name.strip_suffix("::{{closure}}").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(place: Place) -> StuckPlaces {
        let mut places = StuckPlaces::default();
        places.note(&Record::Module(Module {
            start: 0x7000,
            end: 0x9000,
            file_offset: 0x100,
            path: b"/opt/app/server".to_vec(),
            ..Module::default()
        }));
        let (id, process) = (SiteId(1), ProcessId::default());
        places.note(&Record::Site(Site { id, process, place }));
        places
    }

    // CT-26
    #[test]
    fn a_place_is_a_line_or_an_offset_in_a_module() {
        let text = |place| places(place).text(SiteId(1));
        let (file, line, column) = ("src/a\n.rs".to_owned(), 7, 3);
        assert_eq!(text(Place::Source { file, line, column }), "src/a\\n.rs:7");
        assert_eq!(text(Place::ReturnAddress(0x8010)), "server+0x1110");
        assert_eq!(text(Place::Address(0x10)), "0x10");
        let (file, line, column) = ("a\u{202e}\u{9b}'\u{1b}[2J".to_owned(), 7, 3);
        let place = Place::Source { file, line, column };
        assert_eq!(text(place), r"a\u{202e}\u{9b}'\u{1b}[2J:7");
        let (name, address) = ("app::serve::{{closure}}".to_owned(), 0x8010);
        assert_eq!(text(Place::Function { address, name }), "app::serve");
        let unknown = places(Place::default()).text(SiteId(2));
        assert_eq!(unknown, "an unknown place");
    }
}
