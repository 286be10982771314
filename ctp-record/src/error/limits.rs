//! Remedies for errors that are caused by the user's limits.

use std::io;

use crate::connect::rendezvous::is_no_descriptor_left;

/// Whether the error means that no thread could be started: files and memory fail with other errors.
pub fn is_no_thread_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// The message for a thread that could not be started.
pub fn no_thread(error: &io::Error) -> String {
    format!("cannot start a thread: {error}; raise ulimit -u")
}

/// The limit to raise, if a limit caused the error; else `usual`.
pub fn remedy(error: &io::Error, usual: &str) -> String {
    match error.kind() {
        _ if is_no_descriptor_left(error) => "raise ulimit -n".to_owned(),
        // Some file systems have their own limit.
        io::ErrorKind::FileTooLarge => format!("raise ulimit -f, or {usual}"),
        _ => usual.to_owned(),
    }
}
