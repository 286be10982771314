//! Where the user's own limits are in the way, what helps is to raise them.

use std::io;

use crate::connect::rendezvous::is_no_descriptor_left;

/// Neither a file nor memory is refused so: it is the thread that works on it.
pub fn is_no_thread_left(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// What there is to say then.
pub fn no_thread(error: &io::Error) -> String {
    format!("cannot start a thread: {error}; raise ulimit -u")
}

/// What helps where the user's own limits are in the way, else this.
pub fn remedy(error: &io::Error, usual: &str) -> String {
    match error.kind() {
        _ if is_no_descriptor_left(error) => "raise ulimit -n".to_owned(),
        // Some file systems have a limit of their own.
        io::ErrorKind::FileTooLarge => format!("raise ulimit -f, or {usual}"),
        _ => usual.to_owned(),
    }
}
