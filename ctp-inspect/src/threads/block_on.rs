//! Finds the frames of `block_on` on the stack of a thread that is parked in it.
//!
//! The future that was given to `block_on` is suspended while the thread is parked there. While the thread polls
//! the future, functions of the program, or of a library with futures, are on the stack above `block_on`.

use std::ops::Range;

/// The role of a function on the stack of a thread that may be parked in `block_on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOnRole {
    /// `block_on` itself, or a closure in it.
    BlockOn,
    /// Parks the thread, or waits for events; or lies between such functions. All functions of C count.
    Parking,
    /// Anything else.
    Other,
}

/// Path prefixes of functions that park threads, and of their callers up to `block_on`. If such a function polled a
/// user's future, a function with another prefix would be above it on the stack.
const PARKING: &[&str] = &[
    "core::",
    "alloc::",
    "std::",
    "lock_api::",
    "parking::",
    "parking_lot::",
    "parking_lot_core::",
    "mio::",
    "polling::",
    "pollster::",
    "futures_executor::",
    "async_io::driver::",
    "async_io::reactor::",
    "tokio::park::",
    "tokio::loom::",
    "tokio::io::driver::",
    "tokio::time::driver::",
    "tokio::signal::unix::driver::",
    "tokio::process::imp::",
    "tokio::runtime::",
    "tokio::macros::scoped_tls::",
];
/// Exceptions to `PARKING`: these functions poll tasks and futures.
const POLLING: &[&str] = &["tokio::runtime::task::", "tokio::runtime::coop::"];

/// Maximum number of frames that belong to a `block_on`.
const MAX_FRAMES: usize = 32;

impl BlockOnRole {
    /// The role of a function, by its path without generic parameters.
    pub fn of(path: &str) -> Self {
        if path.ends_with("::block_on") {
            BlockOnRole::BlockOn
        } else if !path.contains("::")
            || (begins_with(path, PARKING) && !begins_with(path, POLLING))
        {
            BlockOnRole::Parking
        } else {
            BlockOnRole::Other
        }
    }
}

fn begins_with(path: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|begin| path.starts_with(begin))
}

/// The frames in which the innermost `block_on` of a parked thread keeps its future. `frames` has the roles of the
/// functions in each frame, innermost first. A frame without names counts as parking. Empty if the thread is not parked in
/// `block_on`.
pub fn block_on_frames(frames: &[Vec<BlockOnRole>]) -> Range<usize> {
    let innermost = frames.iter().position(|frame| {
        frame.contains(&BlockOnRole::BlockOn) || frame.contains(&BlockOnRole::Other)
    });
    let Some(innermost) = innermost.filter(|&at| is_innermost_block_on(&frames[at])) else {
        return 0..0;
    };
    let from_block_on = frames[innermost..].iter().take(MAX_FRAMES);
    let count = from_block_on
        .take_while(|frame| !frame.contains(&BlockOnRole::Other))
        .count();
    // The frame of `block_on` counts even if a caller is inlined into it.
    innermost..innermost + count.max(1)
}

/// Whether the innermost function of a frame that is not for parking is `block_on`.
fn is_innermost_block_on(frame: &[BlockOnRole]) -> bool {
    let mut roles = frame.iter().filter(|role| **role != BlockOnRole::Parking);
    roles.next() == Some(&BlockOnRole::BlockOn)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stack: &[&[&str]]) -> Range<usize> {
        let frames = stack.iter().map(|frame| {
            let roles = frame.iter().map(|path| BlockOnRole::of(path));
            roles.collect()
        });
        let frames: Vec<Vec<_>> = frames.collect();
        block_on_frames(&frames)
    }

    const PARK: &[&str] = &["tokio::runtime::park::Inner::park"];
    const BLOCK_ON: &[&str] = &["tokio::runtime::park::CachedParkThread::block_on"];
    const MAIN: &[&str] = &["app::main"];

    #[test]
    fn parked_thread_is_in_block_on() {
        let syscall: &[&str] = &["syscall"];
        let closure: &[&str] = &["std::thread::local::LocalKey::with"];
        let outer: &[&str] = &["tokio::runtime::runtime::Runtime::block_on"];
        let stack = [syscall, PARK, closure, BLOCK_ON, closure, outer, MAIN];
        assert_eq!(found(&stack), 3..6);
        let inlined: &[&str] = &[PARK[0], BLOCK_ON[0], MAIN[0]];
        assert_eq!(found(&[syscall, inlined, closure]), 1..2);
    }

    #[test]
    fn polled_future_is_not_suspended() {
        let body: &[&str] = &["app::serve::{async_fn#0}"];
        assert_eq!(found(&[PARK, body, BLOCK_ON, MAIN]), 0..0);
        let inlined: &[&str] = &[body[0], BLOCK_ON[0]];
        assert_eq!(found(&[PARK, inlined, MAIN]), 0..0);
        let task: &[&str] = &["tokio::runtime::task::raw::poll"];
        assert_eq!(found(&[PARK, task, BLOCK_ON]), 0..0);
        assert_eq!(found(&[PARK, MAIN]), 0..0);
        assert_eq!(found(&[]), 0..0);
    }
}
