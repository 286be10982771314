//! What a descriptor number of a process refers to, by its link in `/proc`.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ctp_trace::record::{Seen, Thing};

use crate::proc::process::value_in;

/// The state of a descriptor number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptorState {
    /// Refers to this.
    Open(Descriptor),
    /// Refers to nothing, while the process has other descriptors.
    Closed,
    /// Refers to nothing, but its former file is or may be open under another number.
    NumberClosed,
    /// We lack the permission to read the link.
    Hidden,
    /// The process has ended or is ending.
    Unknown,
}

/// What a descriptor refers to. Sockets and pipes are distinguished by inode; other things of the same kind
/// look equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Descriptor {
    /// The socket of this inode.
    Socket(u64),
    /// The pipe of this inode, with the access of this end: [`READ`], [`WRITE`].
    Pipe(u64, u32),
    /// An eventfd.
    Event,
    /// An `io_uring`.
    Ring,
    /// An epoll.
    Epoll,
    /// A file or another kernel object.
    Other,
}

/// Permissions of a link in `/proc`, which are the access of its descriptor.
const READ: u32 = 0o400;
const WRITE: u32 = 0o200;

impl Descriptor {
    /// The kind of descriptor for the trace.
    pub fn thing(self) -> Thing {
        match self {
            Descriptor::Socket(_) => Thing::Socket,
            Descriptor::Pipe(..) => Thing::Pipe,
            Descriptor::Event => Thing::Event,
            Descriptor::Ring | Descriptor::Epoll | Descriptor::Other => Thing::Other,
        }
    }

    /// Whether equal values are the same object.
    pub fn is_unique(self) -> bool {
        matches!(self, Descriptor::Socket(_) | Descriptor::Pipe(..))
    }

    /// What a link in `/proc` refers to.
    pub fn at(path: &Path) -> io::Result<Self> {
        let descriptor = Descriptor::of(&fs::read_link(path)?.to_string_lossy());
        let Descriptor::Pipe(inode, _) = descriptor else {
            return Ok(descriptor);
        };
        let rights = fs::symlink_metadata(path)?.mode() & (READ | WRITE);
        Ok(Descriptor::Pipe(inode, rights))
    }

    /// Parses the link's target, which is the same for both ends of a pipe.
    fn of(link: &str) -> Self {
        let number = |of: &str| {
            let rest = link.strip_prefix(of)?.strip_prefix(":[")?;
            rest.strip_suffix(']')?.parse().ok()
        };
        match (number("socket"), number("pipe")) {
            (Some(inode), _) => Descriptor::Socket(inode),
            (_, Some(inode)) => Descriptor::Pipe(inode, 0),
            _ if link == "anon_inode:[eventfd]" => Descriptor::Event,
            _ if link == "anon_inode:[io_uring]" => Descriptor::Ring,
            _ if link == "anon_inode:[eventpoll]" => Descriptor::Epoll,
            _ => Descriptor::Other,
        }
    }
}

/// The state of a number in a process.
pub fn state_of(pid: u32, fd: u64) -> DescriptorState {
    state_in(&PathBuf::from(format!("/proc/{pid}/fd")), fd)
}

/// The state of a number in a descriptor table. A process that is ending has no descriptors at all: the kernel
/// detaches all of them at once before it closes their files.
pub fn state_in(directory: &Path, fd: u64) -> DescriptorState {
    match Descriptor::at(&directory.join(fd.to_string())) {
        Ok(descriptor) => DescriptorState::Open(descriptor),
        Err(error) => match error.kind() {
            ErrorKind::NotFound if has_any(directory).unwrap_or(false) => DescriptorState::Closed,
            ErrorKind::PermissionDenied => DescriptorState::Hidden,
            _ => DescriptorState::Unknown,
        },
    }
}

/// Whether a descriptor table has any entry.
///
/// # Errors
/// Those of the kernel, except for a table that is gone, which has no entry.
pub fn has_any(directory: &Path) -> io::Result<bool> {
    match fs::read_dir(directory).and_then(|mut entries| entries.next().transpose()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        first => Ok(first?.is_some()),
    }
}

/// Whether an eventfd is readable.
pub fn seen_of_event(pid: u32, fd: u64) -> Seen {
    let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default();
    match count_in(&text) {
        Some(0) => Seen::Empty,
        Some(count) => Seen::Readable(count),
        None => Seen::Open,
    }
}

fn count_in(text: &str) -> Option<u64> {
    let mut lines = text.lines();
    let count = lines.find_map(|line| line.strip_prefix("eventfd-count:"))?;
    u64::from_str_radix(count.trim(), 16).ok()
}

/// Number and target of each descriptor, without the standard streams.
pub fn all_of(pid: u32) -> Vec<(String, String)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten();
    let all = entries.flatten().map(|entry| {
        let number = entry.file_name().to_string_lossy().into_owned();
        let target = fs::read_link(entry.path()).unwrap_or_default();
        (number, target.to_string_lossy().into_owned())
    });
    all.filter(|(number, _)| !matches!(number.as_str(), "0" | "1" | "2"))
        .collect()
}

/// Whether a program executed by the process inherits this descriptor.
pub fn is_inherited(pid: u32, number: &str) -> Option<bool> {
    let flags = value_in(&format!("/proc/{pid}/fdinfo/{number}"), "flags:")?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    let close_on_exec = 0o2_000_000; // O_CLOEXEC
    Some(flags & close_on_exec == 0)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::process::Command;

    use rustix::process::{Pid, WaitId, WaitIdOptions};

    use super::*;

    #[test]
    fn open_and_closed_numbers_of_this_process() {
        let me = std::process::id();
        let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
        let [reads, writes] = [&reader, &writer].map(|end| state_of(me, end.as_raw_fd() as u64));
        let DescriptorState::Open(Descriptor::Pipe(inode, READ)) = reads else {
            panic!("{reads:?}");
        };
        assert_eq!(
            writes,
            DescriptorState::Open(Descriptor::Pipe(inode, WRITE))
        );
        assert_eq!(state_of(me, u64::from(u32::MAX)), DescriptorState::Closed);
        assert_eq!(state_of(u32::MAX, 1), DescriptorState::Unknown);
    }

    #[test]
    fn descriptors_of_an_ended_process_are_unknown() {
        let mut sleep = Command::new("sleep").arg("60").spawn().expect("a child");
        let (pid, child) = (sleep.id(), WaitId::Pid(Pid::from_child(&sleep)));
        assert!(matches!(state_of(pid, 0), DescriptorState::Open(_)));
        sleep.kill().expect("our child");
        // The child stays in `/proc` as a zombie.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::process::waitid(child, options).expect("our child");
        assert_eq!(state_of(pid, 0), DescriptorState::Unknown);
        sleep.wait().expect("an ended child");
        assert_eq!(state_of(pid, 0), DescriptorState::Unknown);
    }

    #[test]
    fn a_process_without_descriptors_is_exiting() {
        let empty = tempfile::tempdir().expect("a directory");
        assert_eq!(state_in(empty.path(), 17), DescriptorState::Unknown);
        fs::write(empty.path().join("3"), "").expect("a file");
        assert_eq!(state_in(empty.path(), 17), DescriptorState::Closed);
        assert_eq!(
            state_in(empty.path(), 3),
            DescriptorState::Unknown,
            "not a link"
        );
    }

    #[test]
    fn link_targets_are_parsed() {
        assert_eq!(Descriptor::of("socket:[4711]"), Descriptor::Socket(4711));
        assert_eq!(Descriptor::of("pipe:[7]"), Descriptor::Pipe(7, 0));
        assert_eq!(Descriptor::of("anon_inode:[eventfd]"), Descriptor::Event);
        assert_eq!(Descriptor::of("anon_inode:[io_uring]"), Descriptor::Ring);
        assert_eq!(Descriptor::of("anon_inode:[eventpoll]"), Descriptor::Epoll);
        for link in ["/tmp/socket:[4711]", "anon_inode:[timerfd]", "pipe:[x]", ""] {
            assert_eq!(Descriptor::of(link), Descriptor::Other, "{link}");
        }
        assert_eq!(
            count_in("pos:\t0\neventfd-count:               1f\n"),
            Some(31)
        );
        assert_eq!(count_in("pos:\t0\n"), None);
    }
}
