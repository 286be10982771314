//! How a recorder asks a running program to attach: both halves.
//!
//! ```text
//!   recorder                              probe, when a coroutine is born or runs
//!   1 finds MAGIC in writable data
//!   2 writes the paths
//!   3 number = REQUESTED                  4 number == REQUESTED: reads the paths and attaches, once
//!   7 reads the outcome                   5 outcome = ATTACHED or FAILED
//!   8 still PENDING at the end:           6 if FAILED: number = REFUSED, so that later calls do not
//!     number = 0 (withdrawn)                come here
//! ```
//! If the program has attached, `number` stays, because coroutines that were born before are recorded from their next
//! run on.
//!
//! The recorder writes through `/proc/PID/mem`, which the kernel permits to a process that may
//! trace the program. Each write is a system call of its own, so step 4 sees the paths of step 2.
//! Nothing else is ever written into a program from outside.
//!
//! A program tries to attach once in its life. A recorder that finds a `number` other than 0 writes nothing:
//! the program has made its attempt, or another recorder's request is pending. A program that fails to attach at its
//! start takes steps 5 and 6, too: no request would succeed.
//!
//! If the program notices a request just as the request is withdrawn (8), it finds no recorder, and the attempt fails.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// The first bytes of a request, by which a recorder finds the request: writable data has no other
/// copy of them. The last byte is the version.
pub const MAGIC: [u8; 32] =
    *b"\xc7\x9eCTP attach request\x1b\x02\xd8\xa4\x93\xe6\x71\x0c\xf5\x8a\x4d\x01";

/// The longest path of the shared memory, with its terminating 0.
const MEMORY_PATH_BYTES: usize = 64;
/// The longest path of a socket, with its terminating 0.
const SOCKET_PATH_BYTES: usize = 108;

/// The value of `number` once a recorder has made a request.
pub const REQUESTED: u32 = 1;
/// The value of `number` once the program has failed to attach.
pub const REFUSED: u32 = 2;
/// The outcome of a request that the program has not noticed yet.
pub const PENDING: u32 = 0;
/// The outcome of a request after which the program records.
pub const ATTACHED: u32 = 1;
/// The outcome of a request that could not be satisfied.
pub const FAILED: u32 = 2;

/// Where a recorder writes its request, in the writable data of each program with a probe.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct AttachRequest {
    magic: [u8; MAGIC.len()],
    number: AtomicU32,
    outcome: AtomicU32,
    memory_path: [AtomicU8; MEMORY_PATH_BYTES],
    socket_path: [AtomicU8; SOCKET_PATH_BYTES],
}

/// Offsets of the fields that a recorder reads and writes, in bytes from the magic.
impl AttachRequest {
    /// The number, 4 bytes.
    pub const NUMBER_OFFSET: usize = offset_of!(AttachRequest, number);
    /// The outcome, 4 bytes.
    pub const OUTCOME_OFFSET: usize = offset_of!(AttachRequest, outcome);
    /// The paths, see [`PathBytes`].
    pub const PATHS_OFFSET: usize = offset_of!(AttachRequest, memory_path);
}

/// The fields `memory_path` and `socket_path` of a request, each filled up with zeros.
pub type PathBytes = [u8; MEMORY_PATH_BYTES + SOCKET_PATH_BYTES];

/// Recorder: the bytes of both paths. `None` if a path is too long.
pub fn path_bytes(memory_path: &[u8], socket_path: &[u8]) -> Option<PathBytes> {
    let fits = memory_path.len() < MEMORY_PATH_BYTES && socket_path.len() < SOCKET_PATH_BYTES;
    if !fits {
        return None;
    }
    let mut bytes = [0; MEMORY_PATH_BYTES + SOCKET_PATH_BYTES];
    bytes[..memory_path.len()].copy_from_slice(memory_path);
    bytes[MEMORY_PATH_BYTES..][..socket_path.len()].copy_from_slice(socket_path);
    Some(bytes)
}

/// A request's path without its terminating 0.
pub type RequestedPath = heapless::Vec<u8, SOCKET_PATH_BYTES>;

impl Default for AttachRequest {
    fn default() -> Self {
        Self::new()
    }
}

impl AttachRequest {
    /// No request yet.
    pub const fn new() -> Self {
        AttachRequest {
            magic: MAGIC,
            number: AtomicU32::new(0),
            outcome: AtomicU32::new(PENDING),
            memory_path: [const { AtomicU8::new(0) }; MEMORY_PATH_BYTES],
            socket_path: [const { AtomicU8::new(0) }; SOCKET_PATH_BYTES],
        }
    }

    /// Probe: whether a recorder has made a request that the program has not refused.
    #[inline(always)]
    pub fn is_made(&self) -> bool {
        self.number.load(Ordering::Acquire) == REQUESTED
    }

    /// Probe: the path of the shared memory.
    pub fn memory_path(&self) -> RequestedPath {
        read_path(&self.memory_path)
    }

    /// Probe: the path of the recorder's socket.
    pub fn socket_path(&self) -> RequestedPath {
        read_path(&self.socket_path)
    }

    /// Probe: reports the outcome of the program's only attempt to attach.
    pub fn finish(&self, is_attached: bool) {
        let outcome = if is_attached { ATTACHED } else { FAILED };
        self.outcome.store(outcome, Ordering::Release);
        if !is_attached {
            self.number.store(REFUSED, Ordering::Release);
        }
    }
}

fn read_path(bytes: &[AtomicU8]) -> RequestedPath {
    let bytes = bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
    bytes.take_while(|byte| *byte != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(request: &AttachRequest, paths: &PathBytes) {
        let words = request.memory_path.iter().chain(&request.socket_path);
        let pairs = words.zip(paths);
        pairs.for_each(|(word, byte)| word.store(*byte, Ordering::Relaxed));
    }

    // CT-23
    #[test]
    fn paths_of_a_request_are_read_as_written() {
        let request = AttachRequest::new();
        assert!(!request.is_made());
        let paths = path_bytes(b"/proc/1/fd/5", &[b'x'; 107]).expect("both fit");
        write(&request, &paths);
        assert_eq!(request.memory_path(), b"/proc/1/fd/5");
        assert_eq!(request.socket_path(), [b'x'; 107]);
    }

    // CT-23
    #[test]
    fn only_a_refused_request_is_not_noticed_again() {
        let request = AttachRequest::new();
        request.number.store(REQUESTED, Ordering::Relaxed);
        request.finish(true);
        assert!(request.is_made());
        request.finish(false);
        assert!(!request.is_made());
        assert_eq!(request.number.load(Ordering::Relaxed), REFUSED);
        assert_eq!(request.outcome.load(Ordering::Relaxed), FAILED);
    }

    #[test]
    fn paths_without_room_for_the_end_are_refused() {
        assert_eq!(path_bytes(&[b'x'; 64], b""), None);
        assert_eq!(path_bytes(b"", &[b'x'; 108]), None);
    }

    #[test]
    fn offsets_are_those_of_the_documentation() {
        let offsets = [
            AttachRequest::NUMBER_OFFSET,
            AttachRequest::OUTCOME_OFFSET,
            AttachRequest::PATHS_OFFSET,
        ];
        assert_eq!(offsets, [32, 36, 40]);
        assert_eq!(size_of::<AttachRequest>(), 256);
    }
}
