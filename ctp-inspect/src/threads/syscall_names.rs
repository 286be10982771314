//! [`name`]: names of the system calls in which threads are found blocked.

use crate::stacks::Processor;

/// Name, number on x86-64, and number on AArch64 if the call exists there.
const CALLS: &[(&str, u32, Option<u32>)] = &[
    ("read", 0, Some(63)),
    ("write", 1, Some(64)),
    ("open", 2, None),
    ("close", 3, Some(57)),
    ("poll", 7, None),
    ("mmap", 9, Some(222)),
    ("munmap", 11, Some(215)),
    ("ioctl", 16, Some(29)),
    ("pread64", 17, Some(67)),
    ("pwrite64", 18, Some(68)),
    ("readv", 19, Some(65)),
    ("writev", 20, Some(66)),
    ("select", 23, None),
    ("sched_yield", 24, Some(124)),
    ("msync", 26, Some(227)),
    ("madvise", 28, Some(233)),
    ("pause", 34, None),
    ("nanosleep", 35, Some(101)),
    ("sendfile", 40, Some(71)),
    ("connect", 42, Some(203)),
    ("accept", 43, Some(202)),
    ("sendto", 44, Some(206)),
    ("recvfrom", 45, Some(207)),
    ("sendmsg", 46, Some(211)),
    ("recvmsg", 47, Some(212)),
    ("wait4", 61, Some(260)),
    ("semop", 65, Some(193)),
    ("msgsnd", 69, Some(189)),
    ("msgrcv", 70, Some(188)),
    ("fcntl", 72, Some(25)),
    ("flock", 73, Some(32)),
    ("fsync", 74, Some(82)),
    ("fdatasync", 75, Some(83)),
    ("truncate", 76, Some(45)),
    ("ftruncate", 77, Some(46)),
    ("rename", 82, None),
    ("unlink", 87, None),
    ("rt_sigtimedwait", 128, Some(137)),
    ("rt_sigsuspend", 130, Some(133)),
    ("sync", 162, Some(81)),
    ("futex", 202, Some(98)),
    ("io_getevents", 208, Some(4)),
    ("restart_syscall", 219, Some(128)),
    ("semtimedop", 220, Some(192)),
    ("clock_nanosleep", 230, Some(115)),
    ("epoll_wait", 232, None),
    ("mq_timedsend", 242, Some(182)),
    ("mq_timedreceive", 243, Some(183)),
    ("waitid", 247, Some(95)),
    ("openat", 257, Some(56)),
    ("unlinkat", 263, Some(35)),
    ("renameat", 264, Some(38)),
    ("pselect6", 270, Some(72)),
    ("ppoll", 271, Some(73)),
    ("splice", 275, Some(76)),
    ("sync_file_range", 277, Some(84)),
    ("epoll_pwait", 281, Some(22)),
    ("fallocate", 285, Some(47)),
    ("accept4", 288, Some(242)),
    ("preadv", 295, Some(69)),
    ("pwritev", 296, Some(70)),
    ("recvmmsg", 299, Some(243)),
    ("sendmmsg", 307, Some(269)),
    ("renameat2", 316, Some(276)),
    ("getrandom", 318, Some(278)),
    ("membarrier", 324, Some(283)),
    ("copy_file_range", 326, Some(285)),
    ("preadv2", 327, Some(286)),
    ("pwritev2", 328, Some(287)),
    ("io_uring_enter", 426, Some(426)),
    ("epoll_pwait2", 441, Some(441)),
    ("futex_waitv", 449, Some(449)),
    ("futex_wait", 455, Some(455)),
];

/// The name of a system call; empty if unknown.
pub fn name(processor: Processor, number: u32) -> &'static str {
    let mut calls = CALLS.iter();
    let found = calls.find(|(_, x86, aarch64)| match processor {
        Processor::X86_64 => *x86 == number,
        Processor::Aarch64 => *aarch64 == Some(number),
    });
    found.map_or("", |(name, ..)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_names_of_their_processor() {
        assert_eq!(name(Processor::X86_64, 202), "futex");
        assert_eq!(name(Processor::Aarch64, 98), "futex");
        assert_eq!(name(Processor::Aarch64, 22), "epoll_pwait");
        assert_eq!(name(Processor::Aarch64, 202), "accept");
        assert_eq!(name(Processor::X86_64, 9999), "");
    }

    #[test]
    fn no_number_has_two_names() {
        for (at, call) in CALLS.iter().enumerate() {
            for other in &CALLS[..at] {
                assert_ne!(call.1, other.1, "{call:?}");
                assert!(call.2.is_none() || call.2 != other.2, "{call:?}");
            }
        }
    }
}
