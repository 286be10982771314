//! The lanes of a region, as rings.

use super::claim::Pool;
use super::ring::Ring;
use crate::memory::Region;

impl<'m> Region<'m> {
    /// All lanes, by number: the long ones, then the short ones.
    pub fn pool(&self) -> Pool<'m> {
        Pool {
            long: self.lanes,
            short: self.short.lanes,
            turn: &self.header.lane_turn,
        }
    }

    /// The rings of the lanes that threads have had: none was taken before those in front of it.
    pub fn used_rings(&self) -> impl Iterator<Item = Ring<'m>> + use<'m> {
        let region = *self;
        let rings = (0..).map_while(move |index| region.ring(index));
        rings.take_while(Ring::is_used)
    }

    /// The ring of this lane.
    pub fn ring(&self, number: u32) -> Option<Ring<'m>> {
        let number = number as usize;
        let (lane, records) = match number.checked_sub(self.lanes.len()) {
            None => self.long_lane(number),
            Some(short) => self.short.lane(short),
        }?;
        Some(Ring::new(lane, records).overwritten(self.is_overwritten))
    }
}
