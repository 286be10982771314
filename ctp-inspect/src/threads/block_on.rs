//! Which thread is parked inside of `block_on`, by the functions on its stack.
//!
//! The future that was given to `block_on` is suspended while the thread is parked there. While the thread polls
//! the future, functions of the program, or of a library with futures, are on the stack above `block_on`.

use std::ops::Range;

/// What a function on a stack has to do with `block_on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockOnPart {
    /// `block_on` itself, or a closure in it.
    Drives,
    /// Parks the thread, or waits for events; or lies between such functions.
    Parks,
    /// Anything else.
    Other,
}

/// The beginnings of the paths of functions that park threads, and of the functions around these. None of the functions
/// polls a future without calling a function of another module.
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
/// The exceptions among these: functions that poll tasks and futures.
const POLLING: &[&str] = &["tokio::runtime::task::", "tokio::runtime::coop::"];

/// At most this many frames around the innermost `block_on` belong to it.
const MAX_FRAMES: usize = 32;

impl BlockOnPart {
    /// What a function has to do with `block_on`, by its path without generic parameters.
    pub fn of(path: &str) -> Self {
        if path.ends_with("::block_on") {
            BlockOnPart::Drives
        } else if !path.contains("::")
            || (begins_with(path, PARKING) && !begins_with(path, POLLING))
        {
            BlockOnPart::Parks
        } else {
            BlockOnPart::Other
        }
    }
}

fn begins_with(path: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|begin| path.starts_with(begin))
}

/// The frames in which the innermost `block_on` of a parked thread keeps its future, by the functions of
/// each frame, innermost first. Empty if the thread is not parked in `block_on`.
pub fn frames(functions: &[Vec<BlockOnPart>]) -> Range<usize> {
    let innermost = functions.iter().position(|frame| {
        frame.contains(&BlockOnPart::Drives) || frame.contains(&BlockOnPart::Other)
    });
    let Some(innermost) = innermost.filter(|&at| is_parked_in(&functions[at])) else {
        return 0..0;
    };
    let around = functions[innermost..].iter().take(MAX_FRAMES);
    let count = around
        .take_while(|frame| !frame.contains(&BlockOnPart::Other))
        .count();
    innermost..innermost + count.max(1)
}

/// Whether the innermost function of a frame that is not for parking is `block_on`.
fn is_parked_in(frame: &[BlockOnPart]) -> bool {
    let mut parts = frame.iter().filter(|part| **part != BlockOnPart::Parks);
    parts.next() == Some(&BlockOnPart::Drives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(stack: &[&[&str]]) -> Range<usize> {
        let parts = |frame: &&[&str]| frame.iter().map(|path| BlockOnPart::of(path)).collect();
        let functions: Vec<Vec<_>> = stack.iter().map(parts).collect();
        frames(&functions)
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
