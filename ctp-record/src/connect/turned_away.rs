//! Counts processes that requested memory and got none, by reason. A process that shares the first memory instead
//! is not counted.

use std::io;

use ctp_nostd::request::MemoryRequest;

use crate::connect::rendezvous;

/// Counts by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway {
    /// The recorder had no descriptor left.
    pub for_descriptors: u32,
    /// The request came after the end of the recording.
    pub late: u32,
    /// No memory was left, or the process hung up or ended before the answer.
    pub otherwise: u32,
    /// The process got memory and ended before using it.
    pub untaken: u32,
}

impl TurnedAway {
    /// Counts a process that was refused for this error. A process that has sent no request is not counted: it needs no
    /// memory of its own, or counts itself as unreached.
    pub fn add(&mut self, requested: Option<MemoryRequest>, error: &io::Error) {
        let count = if rendezvous::is_no_descriptor_left(error) {
            &mut self.for_descriptors
        } else {
            &mut self.otherwise
        };
        *count += u32::from(requested.is_some_and(is_missing));
    }

    /// Counts a process that got no answer before its connection was closed.
    pub fn add_unanswered(&mut self, requested: MemoryRequest) {
        self.otherwise += u32::from(is_missing(requested));
    }

    /// Counts a process that asked after the end of the recording.
    pub fn add_late(&mut self, requested: MemoryRequest) {
        self.late += u32::from(is_missing(requested));
    }

    /// The total.
    pub fn count(&self) -> u32 {
        self.for_descriptors + self.late + self.otherwise + self.untaken
    }
}

/// Whether nothing is recorded of a process with this request that got no memory.
fn is_missing(requested: MemoryRequest) -> bool {
    requested != MemoryRequest::OwnOrShared
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
        assert_eq!((away.otherwise, away.late), (2, 1));
    }
}
