//! The lanes of a region, as rings.

use super::claim::Pool;
use super::ring::Ring;
use crate::memory::layout::{Lane, LaneRecord, Layout};
use crate::memory::{Region, RegionOf};
use crate::sync::HAS_LANES;

impl<'m, L: Layout> RegionOf<'m, L> {
    /// All lanes, by number: the long lanes, then the short lanes.
    pub fn pool(&self) -> Pool<'m> {
        Pool {
            long: self.lanes,
            short: self.short.lanes,
            turn: &self.header.lane_turn,
        }
    }

    /// The ring of the lane with this number. `None` on targets on which threads cannot have lanes.
    pub fn ring(&self, number: u32) -> Option<Ring<'m>> {
        if !HAS_LANES {
            return None;
        }
        let number = number as usize;
        let (lane, records) = match number.checked_sub(self.lanes.len()) {
            None => lane_of(self.lanes, self.records, number),
            Some(number) => lane_of(self.short.lanes, self.short.records, number),
        }?;
        Some(Ring::new(lane, records).overwritten(self.is_overwritten))
    }
}

impl<'m> Region<'m> {
    /// The rings of the lanes that threads have used. Lanes are taken in order, so these are the
    /// first ones.
    pub fn used_rings(&self) -> impl Iterator<Item = Ring<'m>> + use<'m> {
        let region = *self;
        let rings = (0..).map_while(move |index| region.ring(index));
        rings.take_while(Ring::is_used)
    }
}

/// A lane and its records. Each lane has the same number of records, a power of two.
fn lane_of<'m>(
    lanes: &'m [Lane],
    records: &'m [LaneRecord],
    index: usize,
) -> Option<(&'m Lane, &'m [LaneRecord])> {
    let length = records.len().checked_div(lanes.len())?;
    let start = index.checked_mul(length)?;
    let records = records.get(start..start.checked_add(length)?)?;
    let lane = lanes.get(index)?;
    length.is_power_of_two().then_some((lane, records))
}
