//! The place in a running process where its probe looks for a request to attach, see
//! [`ctp_nostd::attach_request`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use ctp_nostd::attach_request::{
    ATTACHED, AttachRequest, FAILED, MAGIC, PENDING, PathBytes, REQUESTED,
};

use super::maps;

/// Where the probes of a process look for a request. A process that links two versions of the probe has two.
#[derive(Debug)]
pub struct RequestPlaces {
    /// Stays with the memory of this program even if another process gets the same id.
    memory: File,
    addresses: Vec<u64>,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachOutcome {
    /// The program has not called its probe since the request.
    Pending,
    /// The program has attached and is recorded.
    Attached,
    /// The program could not reach the recorder's memory.
    Failed,
    /// The process has ended.
    Ended,
}

/// At most this many bytes of writable data are searched: in one module, and in all modules together.
const MAX_MODULE_BYTES: u64 = 64 << 20;
const MAX_BYTES: u64 = 1 << 30;
/// At most this many places are used.
const MAX_PLACES: usize = 16;
/// The bytes that are read at a time, a multiple of the alignment.
const PIECE_BYTES: usize = 1 << 20;

impl RequestPlaces {
    /// Finds the places. There are none in a program without a probe.
    ///
    /// # Errors
    /// The process has ended, or its memory may not be written.
    pub fn find(pid: u32) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let memory = options
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))?;
        let mut addresses = Vec::new();
        let mut left = MAX_BYTES;
        for range in maps::writable_data(&maps::text_of(pid)?) {
            let bytes = (range.end - range.start).min(MAX_MODULE_BYTES).min(left);
            left -= bytes;
            search(&memory, range.start..range.start + bytes, &mut addresses);
        }
        Ok(RequestPlaces { memory, addresses })
    }

    /// Whether the process has a probe.
    pub fn exist(&self) -> bool {
        !self.addresses.is_empty()
    }

    /// Whether a recorder has made a request before, or the program has tried to attach.
    ///
    /// # Errors
    /// The process has ended.
    pub fn are_taken(&self) -> io::Result<bool> {
        let numbers = self.words(AttachRequest::NUMBER_OFFSET)?;
        Ok(numbers.into_iter().any(|number| number != 0))
    }

    /// Requests the process to attach to the memory and the socket at these paths.
    ///
    /// # Errors
    /// The process has ended, or its memory may not be written.
    pub fn request(&self, paths: &PathBytes) -> io::Result<()> {
        for address in &self.addresses {
            self.memory
                .write_all_at(paths, address + AttachRequest::PATHS_OFFSET as u64)?;
            let number = REQUESTED.to_ne_bytes();
            self.memory
                .write_all_at(&number, address + AttachRequest::NUMBER_OFFSET as u64)?;
        }
        Ok(())
    }

    /// Takes the request back wherever the program has not noticed it. If the program notices it just now, it finds no
    /// recorder.
    pub fn withdraw(&self) {
        let Ok(outcomes) = self.words(AttachRequest::OUTCOME_OFFSET) else {
            // The process has ended.
            return;
        };
        let all = self.addresses.iter().zip(outcomes);
        for (address, _) in all.filter(|(_, outcome)| *outcome == PENDING) {
            let number = 0_u32.to_ne_bytes();
            // Fails if the process has ended.
            let _ = self
                .memory
                .write_all_at(&number, address + AttachRequest::NUMBER_OFFSET as u64);
        }
    }

    /// What has become of the request.
    pub fn outcome(&self) -> AttachOutcome {
        let Ok(outcomes) = self.words(AttachRequest::OUTCOME_OFFSET) else {
            return AttachOutcome::Ended;
        };
        if outcomes.contains(&ATTACHED) {
            AttachOutcome::Attached
        } else if outcomes.contains(&PENDING) {
            AttachOutcome::Pending
        } else if outcomes.contains(&FAILED) {
            AttachOutcome::Failed
        } else {
            AttachOutcome::Ended
        }
    }

    fn words(&self, offset: usize) -> io::Result<Vec<u32>> {
        let words = self.addresses.iter().map(|address| {
            let mut bytes = [0; 4];
            self.memory
                .read_exact_at(&mut bytes, address + offset as u64)?;
            Ok(u32::from_ne_bytes(bytes))
        });
        words.collect()
    }
}

/// Adds the places in this range of addresses.
fn search(memory: &File, range: std::ops::Range<u64>, found: &mut Vec<u64>) {
    let mut piece = vec![0; PIECE_BYTES];
    let mut at = range.start;
    while at < range.end {
        let length = (range.end - at).min(PIECE_BYTES as u64) as usize;
        // Part of the range may be unmapped by now.
        let Ok(read @ 1..) = memory.read_at(&mut piece[..length], at) else {
            return;
        };
        let places = piece[..read].chunks(align_of::<AttachRequest>());
        let places = places.zip(0_u64..);
        let matching = places.filter(|(bytes, _)| bytes.starts_with(&MAGIC));
        let matching = matching.take(MAX_PLACES.saturating_sub(found.len()));
        found.extend(matching.map(|(_, index)| at + index * align_of::<AttachRequest>() as u64));
        at += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_nostd::attach_request::path_bytes;

    static PLACE: AttachRequest = AttachRequest::new();

    // CT-23
    #[test]
    fn request_is_found_made_and_withdrawn() {
        let places = RequestPlaces::find(std::process::id()).expect("this process");
        let address = std::ptr::from_ref(&PLACE).addr() as u64;
        let only = RequestPlaces {
            addresses: vec![address],
            ..places
        };
        assert!(!only.are_taken().expect("alive") && !PLACE.is_made());
        let paths = path_bytes(b"/a", b"/b").expect("short");
        only.request(&paths).expect("own memory may be written");
        assert!(only.are_taken().expect("alive") && PLACE.is_made());
        assert_eq!(PLACE.memory_path(), b"/a");
        assert_eq!(PLACE.socket_path(), b"/b");
        assert_eq!(only.outcome(), AttachOutcome::Pending);
        only.withdraw();
        assert!(!only.are_taken().expect("alive") && !PLACE.is_made());
        only.request(&paths).expect("own memory may be written");
        PLACE.finish(true);
        assert_eq!(only.outcome(), AttachOutcome::Attached);
        only.withdraw();
        assert!(PLACE.is_made(), "an answered request is not taken back");
    }

    // CT-23
    #[test]
    fn places_of_this_process_are_found_by_their_magic() {
        let address = std::ptr::from_ref(&PLACE).addr() as u64;
        let places = RequestPlaces::find(std::process::id()).expect("this process");
        assert!(places.addresses.contains(&address), "{places:x?}");
    }
}
