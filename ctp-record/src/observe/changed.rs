//! Descriptor numbers that no longer refer to the same file: checks all descriptor tables of the process,
//! and whether the same file is still open under another number.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use crate::proc::descriptor::{Descriptor, Held};
use crate::proc::descriptor_tables::Tables;

/// Most links of a process that are read in a round, in about 40 ms. Beyond it, other numbers of the same file
/// are unknown.
const MAX_LINKS: usize = 1 << 13;

/// A descriptor number that no longer refers to the same file.
#[derive(Debug)]
pub(super) struct Changed<'a> {
    pub fd: u64,
    /// The file that the number referred to.
    pub was: Descriptor,
    /// The state in the main descriptor table; `confirm` replaces this with the state in all tables.
    pub held: &'a mut Held,
}

/// Checks all descriptor tables of the process.
pub(super) fn confirm(pid: u32, changed: &mut [Changed]) {
    let tables = Tables::of(pid);
    match tables.filter(|tables| tables.directories.len() * changed.len() <= MAX_LINKS) {
        Some(tables) => confirm_in(&tables, changed),
        None => detach(changed),
    }
}

/// Marks these as unknown.
pub(super) fn detach(changed: &mut [Changed]) {
    changed
        .iter_mut()
        .for_each(|changed| *changed.held = Held::Unknown);
}

fn confirm_in(tables: &Tables, changed: &mut [Changed]) {
    for descriptor in &mut *changed {
        *descriptor.held = tables.look(descriptor.fd, descriptor.was);
    }
    let closed: Vec<_> = changed
        .iter_mut()
        .filter(|changed| *changed.held == Held::Closed)
        .collect();
    let files = closed.iter().map(|closed| closed.was).collect();
    let left = still_open(tables, &files);
    let has_exited =
        |was: Descriptor| was.is_unique() && left.as_ref().is_some_and(|left| !left.contains(&was));
    for descriptor in closed {
        if !has_exited(descriptor.was) {
            *descriptor.held = Held::NumberClosed;
        }
    }
}

/// Which of these files the process still has open under any number. Returns `None` if the links do not show
/// everything: several tables, too many links, or a ring (`io_uring`), which can keep files without
/// descriptors.
fn still_open(tables: &Tables, files: &HashSet<Descriptor>) -> Option<HashSet<Descriptor>> {
    if tables.has_own || !files.iter().any(|thing| thing.is_unique()) {
        return None;
    }
    let mut found = HashSet::new();
    let mut links = 0..MAX_LINKS;
    for directory in &tables.directories {
        for link in fs::read_dir(directory).ok()? {
            links.next()?;
            match Descriptor::at(&link.ok()?.path()) {
                Ok(Descriptor::Ring) => return None,
                Ok(descriptor) => found.extend(files.get(&descriptor)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return None,
            }
        }
    }
    (0 < links.start).then_some(found)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::{AsFd, AsRawFd as _};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::proc::descriptor::look;

    /// The state found for a number of this process after the descriptor was closed.
    fn once_closed(fd: impl AsFd) -> Held {
        let me = std::process::id();
        // A high number, which no other test gets meanwhile.
        let high = rustix::io::fcntl_dupfd_cloexec(&fd, 900).expect("a free number");
        let number = high.as_raw_fd() as u64;
        let Held::Open(was) = look(me, number) else {
            panic!("not open");
        };
        drop((fd, high));
        let mut held = look(me, number);
        let changed = Changed {
            fd: number,
            was,
            held: &mut held,
        };
        confirm(me, &mut [changed]);
        held
    }

    // CT-15
    #[test]
    fn a_file_with_another_number_is_not_closed() {
        let (reader, writer) = rustix::pipe::pipe().expect("a descriptor");
        let duplicate = reader.try_clone().expect("a descriptor");
        assert_eq!(once_closed(reader), Held::NumberClosed);
        assert_eq!(once_closed(duplicate), Held::Closed, "the last number");
        assert_eq!(once_closed(writer), Held::Closed);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let duplicate = socket.try_clone().expect("a descriptor");
        assert_eq!(once_closed(socket), Held::NumberClosed);
        assert_eq!(once_closed(duplicate), Held::Closed);
    }

    // CT-15
    #[test]
    fn files_outside_the_table_prevent_the_verdict_closed() {
        let room = tempfile::tempdir().expect("a directory");
        let link = |to, name| symlink(to, room.path().join(name)).expect("a link");
        let found = |has_own, was| {
            let tables = Tables {
                directories: vec![room.path().to_owned()],
                has_own,
            };
            let mut held = Held::Closed;
            let changed = Changed {
                fd: 17,
                was,
                held: &mut held,
            };
            confirm_in(&tables, &mut [changed]);
            held
        };
        let socket = Descriptor::Socket(4711);
        link("/dev/null", "0");
        assert_eq!(found(false, socket), Held::Closed);
        assert_eq!(found(true, socket), Held::NumberClosed);
        assert_eq!(found(false, Descriptor::Event), Held::NumberClosed);
        link("anon_inode:[io_uring]", "1");
        assert_eq!(found(false, socket), Held::NumberClosed);
    }
}
