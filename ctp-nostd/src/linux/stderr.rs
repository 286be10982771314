//! The message that says why a program is not recorded.
#![allow(unsafe_code, reason = "borrows descriptor 2")]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_getfd};

/// Writes to stderr, if the program has a stderr that takes a line without blocking.
pub(super) fn write_line(line: &[u8]) {
    // SAFETY: if descriptor 2 is closed, the calls fail. This function does not close the descriptor,
    // and no call relies on what an earlier call found.
    let stderr = unsafe { BorrowedFd::borrow_raw(2) };
    if is_inherited(stderr) && is_writable(stderr) {
        let _ = rustix::io::write(stderr, line);
    }
}

/// Whether the program may have been started with this descriptor. If descriptor 2 is closed on
/// exec, the program itself opened it after it closed stderr. Then the descriptor is another file,
/// which must not get messages.
fn is_inherited(fd: BorrowedFd<'_>) -> bool {
    fcntl_getfd(fd).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC))
}

/// Whether a short write neither blocks nor raises SIGPIPE.
fn is_writable(fd: BorrowedFd<'_>) -> bool {
    let mut stream = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    let is_ready = poll(&mut stream, Some(&Timespec::default())).is_ok();
    is_ready && stream[0].revents() == PollFlags::OUT
}
