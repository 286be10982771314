//! A target that calls a traced waker in unusual places: `stacks SCENE`.
//!
//! In the first scenes a coroutine's stack has unrelated memory above, and the anchor of its thread above
//! that, without a gap. The register for frame pointers points into the unrelated memory, as it may in a
//! program without frame pointers. Later that memory is unmapped:
//!
//! - `vector`: a large vector, on the main thread, below its thread-local storage (with `kept-vector` it
//!   stays, and a line says how many KiB of the shared memory became resident);
//! - `merged`: memory in one mapping with that storage;
//! - `unguarded`: part of the mapping from which an unguarded thread has its stack;
//! - `guarded-below`: the same, with a page without access below all of it.
//!
//! In the other scenes the stack holds frame records whose return addresses begin at the printed number:
//! `main`, `elsewhere` (the main thread, after another one attached), `thread`, `small` (a thread with a
//! stack of 64 KiB), `region` (one with a guard region).

#[cfg(target_arch = "x86_64")]
#[path = "scenes.rs"]
mod scenes;

fn main() {
    #[cfg(target_arch = "x86_64")]
    scenes::play();
}
