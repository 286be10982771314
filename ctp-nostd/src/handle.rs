//! What a program holds: the attached program, its coroutines, and their wakers.

mod birth;
pub(crate) mod coroutine;
mod probe;
#[cfg(not(loom))]
mod static_memory;
pub mod waker;

pub use birth::Kind;
#[cfg(not(loom))]
pub use static_memory::{CompactMemory, Memory, MemoryOf};
