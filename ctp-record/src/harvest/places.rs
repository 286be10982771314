//! Sites: from the words of events to numbered records, each told once.

use std::collections::HashMap;

use ctp_nostd::Region;
use ctp_nostd::chain;
use ctp_nostd::intern::{self, EntryKind, InternedEntry};
use ctp_nostd::site::SiteWord;
use ctp_trace::census::MOST_SITES;
use ctp_trace::record::{Chain, Place, ProcessId, Record, Site, SiteId};

use super::{Outside, Pass};

/// The sites that the trace has so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    ids: HashMap<(ProcessId, Key), SiteId>,
    /// The latest answers of [`Places::interned`], by the id in the shared table.
    latest: Vec<(ProcessId, SiteId)>,
    /// The latest answers of [`Places::plain`]: a coroutine asks for the same address each time.
    plain: HashMap<(ProcessId, u64), SiteId>,
    /// Waits whose site found no room.
    pub unnamed: u64,
}

/// Addresses of v1 peers that are remembered; then all are forgotten.
const MOST_PLAIN: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Interned(u32),
    Chain(u32),
    ReturnAddress(u64),
    Address(u64),
}

/// A coroutine's name and the id of the site that spawned it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Name {
    pub text: String,
    pub site: u32,
}

impl Places {
    pub fn name(&self, region: &Region<'_>, meta: u32) -> Name {
        match intern::lookup(region.names, meta) {
            Some(found) if found.kind == EntryKind::Name as u32 => Name {
                text: found.text.as_str().to_owned(),
                site: found.site,
            },
            _ => Name::default(),
        }
    }

    /// The site of an event of ours.
    #[inline]
    pub fn word(&mut self, process: ProcessId, word: u64, pass: &mut Pass<'_>) -> SiteId {
        let word = SiteWord(word);
        match word.address() {
            Some(address) => self.return_address(process, address, pass),
            None => self.interned(process, word.interned(), pass),
        }
    }

    fn return_address(&mut self, process: ProcessId, address: u64, pass: &mut Pass<'_>) -> SiteId {
        pass.outside.is_text(process, address, pass.sink);
        let key = Key::ReturnAddress(address);
        self.numbered(process, key, Place::ReturnAddress(address), pass)
    }

    /// The site with this id in the shared table. One that is not filled in yet has no site.
    #[inline]
    pub fn interned(&mut self, process: ProcessId, id: u32, pass: &mut Pass<'_>) -> SiteId {
        match self.latest.get(id as usize) {
            Some((asker, known)) if *asker == process && known.0 != 0 => *known,
            _ => self.interned_but_not_lately(process, id, pass),
        }
    }

    #[inline(never)]
    fn interned_but_not_lately(
        &mut self,
        process: ProcessId,
        id: u32,
        pass: &mut Pass<'_>,
    ) -> SiteId {
        let site = self.interned_anew(process, id, pass);
        let region = pass.region;
        if id as usize <= region.sites.len().saturating_add(region.chains.len()) {
            let length = self.latest.len().max(id as usize + 1);
            self.latest.resize(length, Default::default());
            self.latest[id as usize] = (process, site);
        }
        site
    }

    fn interned_anew(&mut self, process: ProcessId, id: u32, pass: &mut Pass<'_>) -> SiteId {
        if let Some(known) = self.ids.get(&(process, Key::Interned(id))) {
            return *known;
        }
        let chain = pass.region.chain_of_site(id);
        match chain.map(|id| chain::lookup(pass.region.chains, id)) {
            None => self.place(process, Key::Interned(id), id, pass),
            Some(None) => SiteId(0),
            Some(Some(chain)) => self.chain(process, id, &chain, pass),
        }
    }

    fn place(&mut self, process: ProcessId, key: Key, id: u32, pass: &mut Pass<'_>) -> SiteId {
        match place_with(process, id, pass) {
            Some(place) => self.numbered(process, key, place, pass),
            None => SiteId(0),
        }
    }

    /// A site of its own, at the place that is known without the chain, if one is, else where it was
    /// called. Each of its addresses is one
    /// of code, as far as the recorder can tell: the mapping that it lies in is told of.
    fn chain(
        &mut self,
        process: ProcessId,
        id: u32,
        chain: &chain::Chain,
        pass: &mut Pass<'_>,
    ) -> SiteId {
        if let Some(known) = self.ids.get(&(process, Key::Chain(id))) {
            return *known;
        }
        let place = match (chain.site, chain.addresses.get(1)) {
            // The innermost is in the probe's own code.
            (0, Some(&caller)) => Some(Place::ReturnAddress(caller)),
            (site, _) => place_with(process, site, pass),
        };
        let Some(place) = place else {
            return SiteId(0);
        };
        for &address in &chain.addresses {
            pass.outside.is_text(process, address, pass.sink);
        }
        let (site, is_new) = self.number(process, Key::Chain(id), place, &chain.addresses, pass);
        if is_new {
            pass.sink.take(Record::Chain(Chain {
                site,
                is_whole: chain.is_whole,
                addresses: chain.addresses.to_vec(),
            }));
        }
        site
    }

    /// The site of a v1 peer's suspend: its address, if that is one of program code.
    pub fn plain(&mut self, process: ProcessId, address: u64, pass: &mut Pass<'_>) -> SiteId {
        if let Some(known) = self.plain.get(&(process, address)) {
            return *known;
        }
        let site = match address != 0 && pass.outside.is_text(process, address, pass.sink) {
            true => self.numbered(
                process,
                Key::Address(address),
                Place::Address(address),
                pass,
            ),
            false => SiteId(0),
        };
        if self.plain.len() >= MOST_PLAIN {
            self.plain.clear();
        }
        self.plain.insert((process, address), site);
        site
    }

    fn numbered(
        &mut self,
        process: ProcessId,
        key: Key,
        place: Place,
        pass: &mut Pass<'_>,
    ) -> SiteId {
        self.number(process, key, place, &[], pass).0
    }

    /// The number of a place, with who called whom there, and whether it is told now.
    fn number(
        &mut self,
        process: ProcessId,
        key: Key,
        place: Place,
        calls: &[u64],
        pass: &mut Pass<'_>,
    ) -> (SiteId, bool) {
        if let Some(known) = self.ids.get(&(process, key)) {
            return (*known, false);
        }
        let number = match self.ids.len() < MOST_SITES {
            true => number_of(process, &place, calls, pass),
            false => None,
        };
        let Some((id, is_new)) = number else {
            self.unnamed += 1;
            return (SiteId(0), false);
        };
        self.ids.insert((process, key), id);
        if is_new {
            pass.sink.take(Record::Site(Site { id, process, place }));
        }
        (id, is_new)
    }
}

/// A place that all processes of a program have in common is told once. Nothing if no number is left.
fn number_of(
    process: ProcessId,
    place: &Place,
    calls: &[u64],
    pass: &mut Pass<'_>,
) -> Option<(SiteId, bool)> {
    let program = pass.outside.program(process);
    let in_program = in_program(process, place, pass.outside);
    let offset = |call: &u64| pass.outside.offset_in_program(process, *call);
    let calls: Option<Vec<u64>> = calls.iter().map(offset).collect();
    let numbers = pass.outside.numbers();
    match in_program.zip(calls) {
        Some((place, calls)) => numbers.shared((program, place, calls)),
        None => numbers.site().map(|id| (id, true)),
    }
}

/// The place as every process of the program has it, with offsets instead of addresses.
fn in_program(process: ProcessId, place: &Place, outside: &dyn Outside) -> Option<Place> {
    let offset = |address: &u64| outside.offset_in_program(process, *address);
    Some(match place {
        Place::Function { address, name } => Place::Function {
            address: offset(address)?,
            name: name.clone(),
        },
        Place::Address(address) => Place::Address(offset(address)?),
        Place::ReturnAddress(address) => Place::ReturnAddress(offset(address)?),
        _ => place.clone(),
    })
}

/// The one with this id in the shared table.
fn place_with(process: ProcessId, id: u32, pass: &mut Pass<'_>) -> Option<Place> {
    let place = place_of(&intern::lookup(pass.region.sites, id)?)?;
    if let Place::Function { address, .. } = place {
        pass.outside.is_text(process, address, pass.sink);
    }
    Some(place)
}

fn place_of(found: &InternedEntry) -> Option<Place> {
    if found.kind == EntryKind::Source as u32 {
        return Some(Place::Source {
            file: found.text.as_str().to_owned(),
            line: found.line,
            column: found.column,
        });
    }
    (found.kind == EntryKind::Function as u32).then(|| Place::Function {
        address: found.addr,
        name: found.text.as_str().to_owned(),
    })
}
