//! A target that calls a traced waker in unusual places: `stacks SCENE`.
//!
//! In the first scenes a coroutine's stack has unrelated memory above, and above that the anchor of
//! its thread, without a gap. The frame pointer register points into the unrelated memory, as it
//! may in a program without frame pointers. Later that memory is unmapped:
//!
//! - `vector`: a large vector, on the main thread, below its thread-local storage (with
//!   `kept-vector` it stays, and a line has the KiB of shared memory that became resident);
//! - `merged`: memory in one mapping with that storage;
//! - `unguarded`: part of the mapping that holds the stack of an unguarded thread;
//! - `guarded-below`: the same, with an inaccessible page below all of it.
//!
//! In the other scenes the stack holds frame records whose return addresses begin at the printed
//! number: `main`, `elsewhere` (the main thread, after another thread attached), `thread`, `small`
//! (a thread with a stack of 64 KiB), `region` (a thread with a guard region).

#[cfg(target_arch = "x86_64")]
#[path = "scenes.rs"]
mod scenes;

fn main() {
    #[cfg(target_arch = "x86_64")]
    scenes::play();
}
