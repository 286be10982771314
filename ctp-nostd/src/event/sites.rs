//! The site word of an event: a line, a function, or the end of an await chain.

use crate::platform::{Platform, Probe, ProbeLayout};
#[cfg(feature = "alloc")]
use crate::protocol::branches::{self, BranchSet};
use crate::protocol::chain::{self, Chain};
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::intern::site::{self, SiteWord};
use crate::protocol::intern::{self, Cache, Entry};
use crate::sync::Ordering;

/// Ids of chains, by their hashes.
static CHAINS: Cache = Cache::new();

impl<P: Platform, L: ProbeLayout> Probe<P, L> {
    /// The word that stands for this source line in an event.
    #[inline(always)]
    pub(crate) fn site<S: CallSite>(&self, place: S) -> SiteWord {
        site::cached(place.key(), self.attachment, || self.line_site(place))
    }

    #[cold]
    #[inline(never)]
    fn line_site<S: CallSite>(&self, place: S) -> u32 {
        place.entry().map_or(0, |entry| self.intern_site(&entry))
    }

    /// The word that stands for this function in an event. Not cached by address: the linker may
    /// give the same address to functions that differ only in their names.
    #[cfg(feature = "linux")]
    pub(crate) fn function_site(self, addr: u64, name: &str) -> SiteWord {
        SiteWord::from_id(self.intern_site(&Entry::function(addr, name)))
    }

    /// The id that the table of chains has for the chain with this hash. If the id is not cached,
    /// `make` returns the chain, which is then looked up or added. 0 if the table is full.
    #[inline(always)]
    pub(crate) fn chain(&self, hash: u64, make: impl FnOnce() -> Chain) -> u32 {
        CHAINS.id(hash >> 16, self.attachment, || self.intern_chain(&make()))
    }

    #[cold]
    #[inline(never)]
    fn intern_chain(&self, chain: &Chain) -> u32 {
        let id = chain::intern(self.region.chains, self.attach_id, chain);
        self.count_if_unnamed(id)
    }

    /// The id of this set of branches in the table of chains, 0 if the table is full. `site` is the
    /// id of the site to report where the branches are not known.
    #[cfg(feature = "alloc")]
    pub(crate) fn branches(&self, site: u32, set: &BranchSet) -> u32 {
        CHAINS.id(branches::hash(site, set) >> 16, self.attachment, || {
            let id = branches::intern(self.region.chains, self.attach_id, site, set);
            self.count_if_unnamed(id)
        })
    }

    /// The site word for a wait that was announced at `site`, with the chain that the poll found. A
    /// chain that names another site is replaced by a copy that names `site`. Without a known chain,
    /// the word is that of `site`.
    pub(crate) fn site_in_chain(&self, site: SiteWord, chain: u32) -> SiteWord {
        let table = self.region.chains;
        let chain = match chain::lookup(table, chain) {
            Some(found) if site.interned() != 0 && found.site != site.interned() => {
                let chain = Chain {
                    site: site.interned(),
                    ..found
                };
                self.chain(chain.hash(), || chain)
            }
            Some(_) => chain,
            None => 0,
        };
        match self.region.site_of_chain(chain) {
            0 => site,
            id => SiteWord::from_id(id),
        }
    }

    fn intern_site(self, entry: &Entry<'_>) -> u32 {
        let id = intern::intern(self.region.sites, self.attach_id, entry);
        self.count_if_unnamed(id)
    }

    /// Returns `id`. An id of 0 means that a table had no room, and is counted in the header.
    pub(crate) fn count_if_unnamed(self, id: u32) -> u32 {
        if id == 0 && self.region.is_extended {
            self.region.header.unnamed.fetch_add(1, Ordering::Relaxed);
        }
        id
    }
}
