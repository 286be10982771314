//! How a process gets memory of its own: both halves of the messages on the socket.
//!
//! The first process uses the memory that the environment names. Each further process, and a fork
//! of an attached process, sends [`REQUEST`] on its socket before any other byte and waits for a
//! bounded time. The recorder answers with one byte: [`GRANTED`] with the descriptor of fresh
//! memory (SCM_RIGHTS), or [`DENIED`]. So no process can damage what another process wrote.
//!
//! A process that stops waiting shuts down the read half of its socket, then checks the socket once
//! more. Either the memory has arrived, or the recorder can no longer send it and knows that the
//! process did not get it. A process that cannot use any memory shuts down the read half before it
//! asks, so the recorder counts it as not recorded. A recorder that is about to close a connection shuts down its own
//! read half, then reads once more: it counts the process if it finds a request, and otherwise the process cannot send
//! its request any more, and counts itself. All other bytes on the socket only mean "check
//! for new events".

/// The bytes of a request. They differ from the bytes of the doorbell, which all have the same
/// value.
pub const REQUEST: [u8; 8] = *b"CTPmem1\n";
/// Follows [`REQUEST`] if the process falls back to the first memory when it is denied its own. A
/// recorder that does not know this byte ignores it.
const OR_SHARED: u8 = b's';
/// The answer carries the descriptor of the memory.
pub const GRANTED: u8 = 1;
/// The answer carries no descriptor: the process gets no memory.
pub const DENIED: u8 = 0;

/// Attach ids of processes with memory of their own start after the rows of the first memory's
/// table.
pub const FIRST_OWN_ID: u32 = 1024;

/// The largest number of memories in a recording, so that attach ids are unique.
pub const MAX_REGIONS: u32 = u16::MAX as u32 - FIRST_OWN_ID;

/// The attach id of the process that has the memory with this number.
pub const fn attach_id(memory_number: u32) -> u16 {
    (FIRST_OWN_ID + memory_number) as u16
}

/// What a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRequest {
    /// Memory of its own. If denied, the process is not recorded.
    Own,
    /// Memory of its own. If denied, the process uses the first memory, and is recorded there.
    OwnOrShared,
}

impl MemoryRequest {
    const OWN_OR_SHARED: [u8; REQUEST.len() + 1] = {
        let mut bytes = [OR_SHARED; REQUEST.len() + 1];
        let (words, _) = bytes.split_at_mut(REQUEST.len());
        words.copy_from_slice(&REQUEST);
        bytes
    };

    /// The bytes that the process sends.
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            MemoryRequest::Own => &REQUEST,
            MemoryRequest::OwnOrShared => &Self::OWN_OR_SHARED,
        }
    }

    /// Parses the first bytes of a connection; `None` if they are no request.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&REQUEST)?;
        Some(match rest.first() {
            Some(&OR_SHARED) => MemoryRequest::OwnOrShared,
            _ => MemoryRequest::Own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-32
    #[test]
    fn requests_round_trip_through_bytes() {
        for request in [MemoryRequest::Own, MemoryRequest::OwnOrShared] {
            assert_eq!(MemoryRequest::from_bytes(request.bytes()), Some(request));
            assert!(request.bytes().starts_with(&REQUEST), "as before");
        }
        assert_eq!(MemoryRequest::from_bytes(&[1]), None);
    }
}
