//! System calls in which a thread usually waits.

/// In alphabetical order, for the search. Calls that end at once are left out, and also calls that wait
/// for a disk only.
const WAITING_CALLS: &[&str] = &[
    "accept",
    "accept4",
    "clock_nanosleep",
    "connect",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "flock",
    "futex",
    "io_getevents",
    "mq_timedreceive",
    "msgrcv",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "pselect6",
    "recvfrom",
    "recvmmsg",
    "recvmsg",
    "restart_syscall",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "select",
    "semop",
    "semtimedop",
    "wait4",
    "waitid",
];

/// Whether a thread usually waits in the system call with this name.
pub(super) fn is_waiting(call: &str) -> bool {
    WAITING_CALLS.binary_search(&call).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_sorted() {
        assert!(WAITING_CALLS.is_sorted());
        assert!(is_waiting("clock_nanosleep") && is_waiting("accept"));
        assert!(!is_waiting("tgkill") && !is_waiting(""));
    }
}
