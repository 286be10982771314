//! The descriptor tables of a process: usually a single table, but a thread may have its own.
#![allow(
    unsafe_code,
    reason = "a system call for which there is no safe wrapper"
)]

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::proc::descriptor::{Descriptor, DescriptorState, has_any, state_in};

/// Maximum number of threads that are inspected. For a process with more threads, nothing is known.
const MAX_THREADS: usize = 1 << 10;
/// `KCMP_FILES` of `linux/kcmp.h`.
const FILES: libc::c_int = 2;

/// The descriptor tables of a process, as directories in `/proc`.
#[derive(Debug)]
pub struct Tables {
    /// The table of the process comes first. Others may be the same table if the kernel does not say.
    pub directories: Vec<PathBuf>,
    /// Some thread is known to have its own table.
    pub has_own: bool,
}

impl Tables {
    /// The tables of a process; `None` if not all of its threads can be inspected.
    pub fn of(pid: u32) -> Option<Self> {
        let mut tables = Tables {
            directories: vec![PathBuf::from(format!("/proc/{pid}/fd"))],
            has_own: false,
        };
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        for (i, thread) in threads.enumerate() {
            let path = thread.ok().filter(|_| i < MAX_THREADS)?.path();
            let tid = path.file_name()?.to_str()?.parse().ok()?;
            tables.add(pid, tid, path.join("fd")).ok()?;
        }
        Some(tables)
    }

    /// Adds a thread's table. A thread without any descriptor is about to end.
    fn add(&mut self, pid: u32, tid: u32, directory: PathBuf) -> io::Result<()> {
        let is_first = (tid == pid).then_some(true);
        let is_shared = is_first.or_else(|| is_shared(pid, tid));
        if is_shared != Some(true) && has_any(&directory)? {
            self.has_own |= is_shared == Some(false);
            self.directories.push(directory);
        }
        Ok(())
    }

    /// The state of a number that referred to `was`, if the tables agree. If any table still has the same file, the
    /// number is open: the waiting thread may use that table.
    pub fn state_of(&self, fd: u64, was: Descriptor) -> DescriptorState {
        let states: Vec<DescriptorState> = self
            .directories
            .iter()
            .map(|directory| state_in(directory, fd))
            .collect();
        match states[..] {
            _ if states.contains(&DescriptorState::Open(was)) => DescriptorState::Open(was),
            [first, ref others @ ..] if others.iter().all(|other| *other == first) => first,
            _ => DescriptorState::Unknown,
        }
    }
}

/// Whether two threads share a table. `None` if a thread is gone or the kernel does not say: the system call is not
/// built in, or forbidden in a container.
fn is_shared(number: u32, other: u32) -> Option<bool> {
    let (number, other) = (libc::c_long::from(number), libc::c_long::from(other));
    // SAFETY: the kernel compares two of its own structures and does not access this process's memory.
    match unsafe { libc::syscall(libc::SYS_kcmp, number, other, FILES, 0, 0) } {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use super::*;

    /// Handmade links are readable and writable.
    const PIPES: [Descriptor; 2] = [Descriptor::Pipe(7, 0o600), Descriptor::Pipe(8, 0o600)];

    #[test]
    fn threads_share_a_table_and_processes_do_not() {
        let me = std::process::id();
        let own = Tables::of(me).expect("this process");
        assert!(!own.has_own);
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).spawn().expect("a child");
        assert_ne!(is_shared(me, child.id()), Some(true));
        assert_ne!(is_shared(me, me), Some(false));
        drop(child.stdin.take());
        child.wait().expect("the end of its input");
        assert!(Tables::of(child.id()).is_none());
    }

    // CT-15
    #[test]
    fn a_closed_number_is_closed_in_every_table() {
        let room = tempfile::tempdir().expect("a directory");
        let table = |name: &str, links: &[(u64, &str)]| {
            let directory = room.path().join(name);
            fs::create_dir(&directory).expect("a directory");
            symlink("/dev/null", directory.join("0")).expect("a link");
            links
                .iter()
                .try_for_each(|(fd, to)| symlink(to, directory.join(fd.to_string())))
                .expect("links");
            directory
        };
        let without = table("without", &[]);
        let with = table("with", &[(17, "pipe:[7]")]);
        let another = table("another", &[(17, "pipe:[8]")]);
        let look = |directories: &[&PathBuf]| {
            let directories = directories
                .iter()
                .map(|directory| directory.to_path_buf())
                .collect();
            let tables = Tables {
                directories,
                has_own: false,
            };
            tables.state_of(17, PIPES[0])
        };
        let [open, other] = PIPES.map(DescriptorState::Open);
        assert_eq!(look(&[&without]), DescriptorState::Closed);
        assert_eq!(look(&[&without, &without]), DescriptorState::Closed);
        assert_eq!(
            look(&[&without, &with]),
            open,
            "the waiting thread may use this table"
        );
        assert_eq!(look(&[&another, &with]), open);
        assert_eq!(look(&[&without, &another]), DescriptorState::Unknown);
        assert_eq!(look(&[&another, &another]), other);
    }
}
