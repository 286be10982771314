//! How a process gets memory of its own: both halves of the words on the socket.
//!
//! The first process uses the memory that the environment names. Each further one, and a fork
//! of one that attached, sends [`REQUEST`] on its socket before any other byte and waits a little.
//! The recorder sends one byte: [`GRANTED`] with the descriptor of fresh memory (SCM_RIGHTS), or
//! [`DENIED`]. So no process can damage what another wrote. One that waits no longer shuts down its
//! half for reading, then looks once more: it has the memory, or the recorder cannot send it and
//! knows that nobody has. A process that cannot use any memory shuts down that half before it asks: so it
//! is counted as one that is not recorded. All other bytes on the socket mean nothing but "look".

/// What a process sends. No bell sounds like it: bells are single bytes of one value.
pub const REQUEST: [u8; 8] = *b"CTPmem1\n";
/// Follows [`REQUEST`] where the process goes on in the first memory if there is none for it. A
/// recorder that does not know this byte takes no notice of it.
const OR_SHARED: u8 = b's';
/// The answer has the descriptor of the memory with it.
pub const GRANTED: u8 = 1;
/// The answer has no descriptor: there is no memory for the one that asked.
pub const DENIED: u8 = 0;

/// Attach ids of processes with memory of their own begin behind the rows of the first memory's
/// table.
pub const FIRST_OWN_ID: u32 = 1024;

/// The most memories of a recording, so that no attach id comes twice.
pub const MOST_MEMORIES: u32 = u16::MAX as u32 - FIRST_OWN_ID;

/// The attach id of the process that has this memory, from the memory's number.
pub const fn attach_id(memory_number: u32) -> u16 {
    (FIRST_OWN_ID + memory_number) as u16
}

/// What a process asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Memory of its own. Without it nothing that the process does is recorded.
    Own,
    /// Memory of its own. Without it the process uses the first memory, and is recorded there.
    OwnOrShared,
}

impl Asked {
    const OWN_OR_SHARED: [u8; REQUEST.len() + 1] = {
        let mut bytes = [OR_SHARED; REQUEST.len() + 1];
        let (words, _) = bytes.split_at_mut(REQUEST.len());
        words.copy_from_slice(&REQUEST);
        bytes
    };

    /// What the process sends.
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Asked::Own => &REQUEST,
            Asked::OwnOrShared => &Self::OWN_OR_SHARED,
        }
    }

    /// What the first bytes of a connection ask for, if they ask for anything.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&REQUEST)?;
        Some(match rest.first() {
            Some(&OR_SHARED) => Asked::OwnOrShared,
            _ => Asked::Own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-32
    #[test]
    fn what_is_asked_for_is_what_is_heard() {
        for asked in [Asked::Own, Asked::OwnOrShared] {
            assert_eq!(Asked::from_bytes(asked.bytes()), Some(asked));
            assert!(asked.bytes().starts_with(&REQUEST), "as before");
        }
        assert_eq!(Asked::from_bytes(&[1]), None);
    }
}
