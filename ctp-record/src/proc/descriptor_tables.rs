//! The tables of descriptors that a process has: usually one, but a thread may have one of its own.
#![allow(
    unsafe_code,
    reason = "a system call for which there is no safe wrapper"
)]

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::proc::descriptor::{Descriptor, Held, has_any, look_in};

/// Threads of a process that are asked for their table. Of one that has more, nothing is known.
const MOST_THREADS: usize = 1 << 10;
/// What `kcmp(2)` is to compare, in the numbers of `linux/kcmp.h`.
const FILES: libc::c_int = 2;

/// All tables of a process, as directories in `/proc`.
#[derive(Debug)]
pub struct Tables {
    /// That of the process first. Others may be the same, where the kernel does not tell.
    pub directories: Vec<PathBuf>,
    /// A thread is known to have one of its own.
    pub has_own: bool,
}

impl Tables {
    /// Those of a process, or nothing if not all of its threads can be seen.
    pub fn of(pid: u32) -> Option<Self> {
        let mut tables = Tables {
            directories: vec![PathBuf::from(format!("/proc/{pid}/fd"))],
            has_own: false,
        };
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        for (i, thread) in threads.enumerate() {
            let path = thread.ok().filter(|_| i < MOST_THREADS)?.path();
            let tid = path.file_name()?.to_str()?.parse().ok()?;
            tables.add(pid, tid, path.join("fd")).ok()?;
        }
        Some(tables)
    }

    /// A thread without any is about to end, and holds nothing.
    fn add(&mut self, pid: u32, tid: u32, directory: PathBuf) -> io::Result<()> {
        let is_first = (tid == pid).then_some(true);
        let is_shared = is_first.or_else(|| is_shared(pid, tid));
        if is_shared != Some(true) && has_any(&directory)? {
            self.has_own |= is_shared == Some(false);
            self.directories.push(directory);
        }
        Ok(())
    }

    /// What a number is, which was this, if no table speaks against it. Where one of them still has
    /// that, it is open: who waits may go by that table.
    pub fn look(&self, fd: u64, was: Descriptor) -> Held {
        let held: Vec<Held> = self
            .directories
            .iter()
            .map(|directory| look_in(directory, fd))
            .collect();
        match held[..] {
            _ if held.contains(&Held::Open(was)) => Held::Open(was),
            [first, ref others @ ..] if others.iter().all(|other| *other == first) => first,
            _ => Held::Unknown,
        }
    }
}

/// Whether two threads have one table. Nothing where one is gone, or the kernel does not tell: it
/// was built without this call, or a container forbids it.
fn is_shared(number: u32, other: u32) -> Option<bool> {
    let (other_number, other) = (libc::c_long::from(number), libc::c_long::from(other));
    // SAFETY: the kernel compares two of its own structures, and neither reads nor writes memory of
    // this process.
    match unsafe { libc::syscall(libc::SYS_kcmp, other_number, other, FILES, 0, 0) } {
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

    /// Links that are made by hand may do everything.
    const PIPES: [Descriptor; 2] = [Descriptor::Pipe(7, 0o600), Descriptor::Pipe(8, 0o600)];

    #[test]
    fn threads_share_a_table_and_processes_do_not() {
        let me = std::process::id();
        let own = Tables::of(me).expect("it is ours");
        assert!(!own.has_own);
        let mut cat = Command::new("cat");
        let mut child = cat.stdin(Stdio::piped()).spawn().expect("it is there");
        assert_ne!(is_shared(me, child.id()), Some(true));
        assert_ne!(is_shared(me, me), Some(false));
        drop(child.stdin.take());
        child.wait().expect("its input is at its end");
        assert!(Tables::of(child.id()).is_none());
    }

    // CT-15
    #[test]
    fn what_is_closed_is_so_in_every_table() {
        let room = tempfile::tempdir().expect("a directory can be made");
        let table = |name: &str, links: &[(u64, &str)]| {
            let directory = room.path().join(name);
            fs::create_dir(&directory).expect("can be made");
            symlink("/dev/null", directory.join("0")).expect("can be made");
            let link = |(fd, to): &(u64, &str)| symlink(to, directory.join(fd.to_string()));
            links.iter().try_for_each(link).expect("can be made");
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
            tables.look(17, PIPES[0])
        };
        let [open, other] = PIPES.map(Held::Open);
        assert_eq!(look(&[&without]), Held::Closed);
        assert_eq!(look(&[&without, &without]), Held::Closed);
        assert_eq!(look(&[&without, &with]), open, "its thread may wait");
        assert_eq!(look(&[&another, &with]), open);
        assert_eq!(look(&[&without, &another]), Held::Unknown);
        assert_eq!(look(&[&another, &another]), other);
    }
}
