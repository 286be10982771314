//! A fast hash for ids. Decoding an event looks up one or two ids.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with ids as keys. Small consecutive ids, which a recorder assigns, do not collide. The ids of a malicious
/// trace may collide, which takes time but does not change any result.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// Multiplies by an odd number, which spreads neighboring ids over the upper bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    /// Hashes the discriminant of an enum.
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.cast_unsigned() as u64);
    }
}
