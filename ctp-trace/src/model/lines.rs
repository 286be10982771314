//! Maps each site to its source line and its call chain. `levels.rs` groups waits by them.

use std::collections::HashMap;

use crate::hash::Map;
use crate::record::{Chain, Leaf, Place, ProcessId, Site, SiteId};

/// A line of a process: a number that all sites at the line share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LineId(u32);

/// Minimum number of innermost addresses that make sites comparable: the probe's, the leaf's, and one of
/// the leaf's caller.
const MIN_CALLS: usize = 3;

/// The place of one site.
#[derive(Clone, Debug, Default)]
struct SiteLine {
    process: ProcessId,
    line: Option<LineId>,
    /// The line of the chain, if the recorder has examined it.
    chain_line: Option<LineId>,
    /// The addresses of the chain, innermost first; empty without a chain.
    calls: Box<[u64]>,
}

/// The places of all sites.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteLines {
    sites: Map<SiteId, SiteLine>,
    lines: HashMap<(ProcessId, Place), LineId>,
    /// The line of each site that stands for the place of several chains.
    chain_lines: Map<SiteId, LineId>,
}

impl SiteLines {
    /// Takes a site. The place of a function says nothing about the line of a chain in it.
    pub(super) fn note_site(&mut self, site: &Site) {
        let next = self.next_line();
        let line = match site.place {
            Place::Function { .. } => None,
            _ => Some(
                *self
                    .lines
                    .entry((site.process, site.place.clone()))
                    .or_insert(next),
            ),
        };
        let known = self.sites.entry(site.id).or_default();
        (known.process, known.line) = (site.process, line);
    }

    /// Notes which other site has the same source position. The compiler may duplicate the code of a line, so
    /// that several chains have one position.
    pub(super) fn note_leaf(&mut self, leaf: &Leaf) {
        if leaf.same_as == SiteId(0) {
            return;
        }
        let next = self.next_line();
        let line = *self.chain_lines.entry(leaf.same_as).or_insert(next);
        self.sites.entry(leaf.site).or_default().chain_line = Some(line);
    }

    fn next_line(&self) -> LineId {
        let count = self.lines.len() + self.chain_lines.len();
        LineId(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Takes the chain of a site.
    pub(super) fn note_chain(&mut self, chain: &Chain) {
        let known = self.sites.entry(chain.site).or_default();
        known.calls = chain.addresses.clone().into();
    }

    /// Whether the site has a chain that says more than its line.
    pub(super) fn has_chain(&self, site: SiteId) -> bool {
        self.sites
            .get(&site)
            .is_some_and(|known| MIN_CALLS <= known.calls.len())
    }

    /// Whether only the call in the library function that gave out a waker is known, as without frame pointers.
    pub(super) fn has_only_leaf(&self, site: SiteId) -> bool {
        let known = self.sites.get(&site);
        known.is_some_and(|known| known.calls.len() == MIN_CALLS - 1)
    }

    /// The line of the site, if known.
    pub(super) fn line(&self, site: SiteId) -> Option<LineId> {
        let known = self.sites.get(&site)?;
        known.line.or(known.chain_line)
    }

    /// Whether two sites are the same, or have the same innermost calls.
    pub(super) fn are_alike(&self, site: SiteId, other: SiteId) -> bool {
        site == other
            || self
                .innermost(site)
                .is_some_and(|calls| self.innermost(other) == Some(calls))
    }

    fn innermost(&self, site: SiteId) -> Option<(ProcessId, &[u64])> {
        let known = self.sites.get(&site)?;
        Some((known.process, known.calls.get(..MIN_CALLS)?))
    }

    /// Prefixes of the site's chain, from the longest proper prefix down to `MIN_CALLS` addresses. Empty for a
    /// site with a source line.
    pub(super) fn inner_calls(&self, site: SiteId) -> impl Iterator<Item = (ProcessId, &[u64])> {
        let known = self.sites.get(&site).filter(|known| known.line.is_none());
        known.into_iter().flat_map(|known| {
            let most = known.calls.len().saturating_sub(1);
            let lengths = (MIN_CALLS..=most).rev();
            lengths.map(|length| (known.process, &known.calls[..length]))
        })
    }

    /// The process, and the return address in the library function that cloned the waker at this site; address
    /// 0 if unknown.
    pub(super) fn leaf(&self, site: SiteId) -> (ProcessId, u64) {
        let known = self.sites.get(&site);
        known.map_or_else(Default::default, |known| {
            let call = known.calls.get(1).copied();
            (known.process, call.unwrap_or_default())
        })
    }
}
