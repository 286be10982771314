//! Processes that asked for memory in vain, by what kept them out. Those that are recorded in the first
//! memory instead are not counted.

use std::io;

use ctp_nostd::request::MemoryRequest;

use crate::connect::rendezvous;

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway {
    /// The recorder may have no more files open.
    pub for_descriptors: u32,
    /// They asked when the recording was over.
    pub late: u32,
    /// There was no memory left, or they did not wait for the answer, or ended before it.
    pub otherwise: u32,
    /// They got memory, and ended before they could use it.
    pub untaken: u32,
}

impl TurnedAway {
    /// One more, for want of whatever the kernel said. What it asked for may not have been heard.
    pub fn add(&mut self, requested: Option<MemoryRequest>, error: &io::Error) {
        let count = match rendezvous::is_no_descriptor_left(error) {
            true => &mut self.for_descriptors,
            false => &mut self.otherwise,
        };
        *count += u32::from(is_missing(requested));
    }

    /// One more, whose request was not answered before its connection was given up.
    pub fn add_unanswered(&mut self, requested: MemoryRequest) {
        self.otherwise += u32::from(is_missing(Some(requested)));
    }

    /// One more, that asked when the recording was over.
    pub fn add_late(&mut self, requested: MemoryRequest) {
        self.late += u32::from(is_missing(Some(requested)));
    }

    /// All of them.
    pub fn count(&self) -> u32 {
        self.for_descriptors + self.late + self.otherwise + self.untaken
    }
}

/// Is nothing recorded of a process that asked so, and got nothing?
fn is_missing(requested: Option<MemoryRequest>) -> bool {
    requested != Some(MemoryRequest::OwnOrShared)
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-32
    #[test]
    fn processes_that_share_the_first_memory_are_not_missing() {
        let mut away = TurnedAway::default();
        let error = io::ErrorKind::BrokenPipe.into();
        away.add(Some(MemoryRequest::OwnOrShared), &error);
        away.add_unanswered(MemoryRequest::OwnOrShared);
        away.add_late(MemoryRequest::OwnOrShared);
        assert_eq!(away.count(), 0);
        away.add(Some(MemoryRequest::Own), &error);
        away.add(None, &error);
        away.add_unanswered(MemoryRequest::Own);
        away.add_late(MemoryRequest::Own);
        assert_eq!((away.otherwise, away.late), (3, 1));
    }
}
