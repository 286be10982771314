//! How a process gets memory of its own: both halves of the words on the socket.
//!
//! The first process uses the memory that the environment names. Each further one, and a fork
//! of one that attached, sends [`REQUEST`] on its socket before any other byte and waits a little.
//! The recorder sends one byte: [`GRANTED`] with the descriptor of fresh memory (SCM_RIGHTS), or
//! [`DENIED`]. So no process can damage what another wrote. One that waits no longer shuts down its
//! half for reading, then looks once more: it has the memory, or the recorder cannot send it and
//! knows that nobody has. All other bytes on the socket mean nothing but "look".

/// What a process sends. No bell sounds like it: bells are single bytes of one value.
pub const REQUEST: [u8; 8] = *b"CTPmem1\n";
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
