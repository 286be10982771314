//! Processes that asked in vain, by what kept them out.

use std::io;

use crate::rendezvous;

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway {
    /// The recorder may have no more files open.
    pub for_descriptors: u32,
    /// They asked when the recording was over.
    pub late: u32,
    /// There was no memory left, or they did not wait for the answer.
    pub otherwise: u32,
}

impl TurnedAway {
    /// One more, for want of whatever the kernel said.
    pub fn add(&mut self, error: &io::Error) {
        match rendezvous::is_no_descriptor_left(error) {
            true => self.for_descriptors += 1,
            false => self.otherwise += 1,
        }
    }

    /// All of them.
    pub fn count(&self) -> u32 {
        self.for_descriptors + self.late + self.otherwise
    }
}
