//! What a program holds: the attached program, its coroutines, and their wakers.

pub(crate) mod coroutine;
mod hold;
pub(crate) mod probe;
#[cfg(not(loom))]
mod static_memory;
pub mod waker;

#[cfg(not(loom))]
pub use static_memory::Memory;
