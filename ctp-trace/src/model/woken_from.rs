//! Counts which coroutines end the waits at a site. A waking coroutine is counted by the site of its own latest
//! wait.

use std::num::NonZeroU32;

/// How many sites of waking coroutines are counted per site.
const SEPARATE: usize = 4;

/// The number of a site, in four bytes even if there may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SiteNumber(NonZeroU32);

impl SiteNumber {
    pub(super) fn new(number: u32) -> Option<Self> {
        number
            .checked_add(1)
            .and_then(NonZeroU32::new)
            .map(SiteNumber)
    }

    fn get(self) -> u32 {
        self.0.get() - 1
    }
}

/// Numbers of sites, each with the number of waits that were ended from that site.
#[derive(Clone, Debug, Default)]
pub(super) struct WokenFrom(Vec<(u32, u64)>);

impl WokenFrom {
    pub(super) fn add(&mut self, site: SiteNumber) {
        let site = site.get();
        match self.0.iter().position(|(known, _)| *known == site) {
            Some(known) => self.0[known].1 += 1,
            None if self.0.len() < SEPARATE => self.0.push((site, 1)),
            None => {}
        }
    }

    /// The sites from which at least every second run ended a wait here. `waits_at` is how many waits
    /// ended at a site.
    pub(super) fn usual(&self, waits_at: impl Fn(u32) -> u64) -> impl Iterator<Item = u32> {
        self.0
            .iter()
            .filter(move |(site, count)| waits_at(*site) <= count.saturating_mul(2))
            .map(|(site, _)| *site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(site: u32) -> SiteNumber {
        SiteNumber::new(site).expect("a small number")
    }

    #[test]
    fn only_sites_that_mostly_wake_are_usual() {
        let mut from = WokenFrom::default();
        (0..10).for_each(|_| from.add(number(7)));
        (0..9).for_each(|_| from.add(number(8)));
        (100..1_000).for_each(|site| from.add(number(site)));
        let usual: Vec<u32> = from
            .usual(|site| if site < 10 { 20 } else { 1_000 })
            .collect();
        assert_eq!(usual, [7]);
        assert_eq!(from.0.len(), SEPARATE);
    }
}
