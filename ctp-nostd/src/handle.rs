//! What a program holds: the attached program, its coroutines, and their wakers.

mod birth;
pub(crate) mod coroutine;
mod probe;
#[cfg(not(loom))]
mod ring_memory;
#[cfg(not(loom))]
mod static_memory;
pub mod waker;

pub use birth::Kind;
pub use coroutine::StackPosition;
#[cfg(not(loom))]
pub use ring_memory::RingMemory;
#[cfg(not(loom))]
pub use static_memory::{CompactMemory, Memory, MemoryOf};
