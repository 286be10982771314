//! Sites: turns the site words of events into numbered records, each written once.

use std::collections::HashMap;

use ctp_nostd::Region;
use ctp_nostd::branches;
use ctp_nostd::chain;
use ctp_nostd::intern::{self, EntryKind, InternedEntry};
use ctp_nostd::site::SiteWord;
use ctp_trace::model::MAX_SITES;
use ctp_trace::record::{Branches, Chain, CoroutineId, Place, ProcessId, Record, Site, SiteId};

use super::{Outside, Pass};

/// The sites that are in the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct SiteTable {
    ids: HashMap<(ProcessId, Key), SiteId>,
    /// Recent results of [`SiteTable::interned`], by the id in the shared table.
    latest: Vec<(ProcessId, SiteId)>,
    /// Recent results of [`SiteTable::at_address`]: a coroutine usually suspends at the same addresses.
    by_address: HashMap<(ProcessId, u64), SiteId>,
    /// Recent results of [`SiteTable::frame`]. Another coroutine may use the memory of a frame later.
    frames: HashMap<(CoroutineId, u64), SiteId>,
    /// Waits at sites without a number, because the trace has too many sites.
    pub unnamed: u64,
}

/// Cached addresses of v1 peers. A full cache is cleared.
const MAX_V1_ADDRESSES: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Interned(u32),
    Chain(u32),
    ReturnAddress(u64),
    Address(u64),
}

/// A coroutine's name and the id of the site that spawned it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoroutineName {
    pub text: String,
    pub site: u32,
}

impl SiteTable {
    pub fn name(&self, region: &Region<'_>, meta: u32) -> CoroutineName {
        match intern::lookup(region.names, meta) {
            Some(found) if found.kind == EntryKind::Name as u32 => CoroutineName {
                text: found.text.as_str().to_owned(),
                site: found.site,
            },
            _ => CoroutineName::default(),
        }
    }

    /// The site of an event of this project's probe.
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

    /// The site with this id in the shared table. An entry that is not filled in yet gives site 0.
    #[inline]
    pub fn interned(&mut self, process: ProcessId, id: u32, pass: &mut Pass<'_>) -> SiteId {
        match self.latest.get(id as usize) {
            Some((asker, known)) if *asker == process && known.0 != 0 => *known,
            _ => self.interned_uncached(process, id, pass),
        }
    }

    #[inline(never)]
    fn interned_uncached(&mut self, process: ProcessId, id: u32, pass: &mut Pass<'_>) -> SiteId {
        let site = self.resolve_interned(process, id, pass);
        let region = pass.region;
        if id as usize <= region.sites.len().saturating_add(region.chains.len()) {
            let length = self.latest.len().max(id as usize + 1);
            self.latest.resize(length, Default::default());
            self.latest[id as usize] = (process, site);
        }
        site
    }

    fn resolve_interned(&mut self, process: ProcessId, id: u32, pass: &mut Pass<'_>) -> SiteId {
        if let Some(known) = self.ids.get(&(process, Key::Interned(id))) {
            return *known;
        }
        let chain = pass.region.chain_of_site(id);
        match chain.map(|id| chain::lookup(pass.region.chains, id)) {
            None => self.place(process, Key::Interned(id), id, pass),
            Some(None) => match pass.region.branches_of_site(id) {
                Some(branches) => self.branches(process, id, &branches, pass),
                None => SiteId(0),
            },
            Some(Some(chain)) => self.chain(process, id, &chain, pass),
        }
    }

    /// The site of a wait with several branches. Its place is the site that the probe states. A branch that
    /// refers to a set of branches instead of a call chain is left out.
    fn branches(
        &mut self,
        process: ProcessId,
        id: u32,
        branches: &branches::Branches,
        pass: &mut Pass<'_>,
    ) -> SiteId {
        let key = Key::Chain(id);
        if let Some(known) = self.ids.get(&(process, key)) {
            return *known;
        }
        let chains = branches.chains.iter();
        let sites: Vec<SiteId> = chains
            .filter_map(|&branch| {
                let chain = chain::lookup(pass.region.chains, branch)?;
                let id = pass.region.site_of_chain(branch);
                Some(self.chain(process, id, &chain, pass))
            })
            .filter(|site| site.0 != 0)
            .collect();
        let Some(place) = place_with(process, branches.site, pass) else {
            return SiteId(0);
        };
        let site = self.next_number(pass);
        if site.0 != 0 {
            self.ids.insert((process, key), site);
            pass.sink.take(Record::Site(Site {
                id: site,
                process,
                place,
            }));
            pass.sink.take(Record::Branches(Branches { site, sites }));
        }
        site
    }

    /// A number that no site has, or 0 if there is none left.
    fn next_number(&mut self, pass: &mut Pass<'_>) -> SiteId {
        let has_room = self.ids.len() < MAX_SITES;
        let number = has_room.then(|| pass.outside.numbers().site()).flatten();
        self.unnamed += u64::from(number.is_none());
        number.unwrap_or_default()
    }

    fn place(&mut self, process: ProcessId, key: Key, id: u32, pass: &mut Pass<'_>) -> SiteId {
        match place_with(process, id, pass) {
            Some(place) => self.numbered(process, key, place, pass),
            None => SiteId(0),
        }
    }

    /// The site of a call chain. Its place is the site that the probe states, else the caller's return
    /// address. The module of each address is described to the sink.
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
            // The innermost address lies in the probe's own code.
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

    /// The site of a v1 peer's suspend: its address, if the address lies in program code.
    pub fn at_address(&mut self, process: ProcessId, address: u64, pass: &mut Pass<'_>) -> SiteId {
        if let Some(known) = self.by_address.get(&(process, address)) {
            return *known;
        }
        let site = if address != 0 && pass.outside.is_text(process, address, pass.sink) {
            self.numbered(
                process,
                Key::Address(address),
                Place::Address(address),
                pass,
            )
        } else {
            SiteId(0)
        };
        if self.by_address.len() >= MAX_V1_ADDRESSES {
            self.by_address.clear();
        }
        self.by_address.insert((process, address), site);
        site
    }

    /// The site of a v1 peer's suspend, if its address is a C++20 coroutine frame: the function that resumes the
    /// frame. With gcc and clang, a frame begins with the addresses of the functions that resume and destroy it.
    /// `still_waits` is called after the frame was read. If it returns false, the frame may have been freed before,
    /// and its memory used for something else.
    pub fn frame(
        &mut self,
        (process, coroutine): (ProcessId, CoroutineId),
        address: u64,
        still_waits: impl FnOnce() -> bool,
        pass: &mut Pass<'_>,
    ) -> SiteId {
        if let Some(known) = self.frames.get(&(coroutine, address)) {
            return *known;
        }
        let functions = pass.outside.words_at(process, address);
        if !still_waits() {
            return SiteId(0);
        }
        let site = match functions {
            Some([resume, destroy]) if are_functions(process, [resume, destroy], pass) => {
                self.numbered(process, Key::Address(resume), Place::Address(resume), pass)
            }
            _ => SiteId(0),
        };
        if self.frames.len() >= MAX_V1_ADDRESSES {
            self.frames.clear();
        }
        self.frames.insert((coroutine, address), site);
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

    /// The number of a place with its call chain, and whether it is new in the trace. The number is 0 if none
    /// is left.
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
        let number = if self.ids.len() < MAX_SITES {
            number_of(process, &place, calls, pass)
        } else {
            None
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

/// Assigns a number. Processes of one program share the numbers of their common places. `None` if no
/// number is left.
fn number_of(
    process: ProcessId,
    place: &Place,
    calls: &[u64],
    pass: &mut Pass<'_>,
) -> Option<(SiteId, bool)> {
    let program = pass.outside.program(process);
    let in_program = in_program(process, place, pass.outside);
    let calls: Option<Vec<u64>> = calls
        .iter()
        .map(|call| pass.outside.offset_in_program(process, *call))
        .collect();
    let numbers = pass.outside.numbers();
    match in_program.zip(calls) {
        Some((place, calls)) => numbers.shared((program, place, calls)),
        None => numbers.site().map(|id| (id, true)),
    }
}

/// Converts a place's addresses to offsets in the program's file, which are the same in every process of the program.
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

/// Whether these are addresses of different functions.
fn are_functions(process: ProcessId, addresses: [u64; 2], pass: &mut Pass<'_>) -> bool {
    let [first, second] = addresses;
    first != second
        && addresses
            .iter()
            .all(|address| pass.outside.is_text(process, *address, pass.sink))
}

/// The place with this id in the shared table.
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
