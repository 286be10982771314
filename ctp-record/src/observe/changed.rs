//! Descriptor numbers that no longer refer to the same file: checks all descriptor tables of the process,
//! and whether the same file is still open under another number.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use crate::proc::descriptor::{Descriptor, DescriptorState};
use crate::proc::descriptor_tables::Tables;

/// Maximum number of links of a process that are read in a round, which takes about 40 ms. With more links, it is
/// unknown whether the same file has other numbers.
const MAX_LINKS: usize = 1 << 13;

/// A descriptor number that no longer refers to the same file.
#[derive(Debug)]
pub(super) struct Changed<'a> {
    pub fd: u64,
    /// The file that the number referred to.
    pub was: Descriptor,
    /// The state in the main descriptor table; `confirm` replaces this with the state in all tables.
    pub state: &'a mut DescriptorState,
}

/// Checks all descriptor tables of the process.
pub(super) fn confirm(pid: u32, changed: &mut [Changed]) {
    let tables = Tables::of(pid);
    match tables.filter(|tables| tables.directories.len() * changed.len() <= MAX_LINKS) {
        Some(tables) => confirm_in(&tables, changed),
        None => detach(changed),
    }
}

/// Marks the states of these descriptors as unknown.
pub(super) fn detach(changed: &mut [Changed]) {
    changed
        .iter_mut()
        .for_each(|changed| *changed.state = DescriptorState::Unknown);
}

fn confirm_in(tables: &Tables, changed: &mut [Changed]) {
    for descriptor in &mut *changed {
        *descriptor.state = tables.state_of(descriptor.fd, descriptor.was);
    }
    let closed: Vec<_> = changed
        .iter_mut()
        .filter(|changed| *changed.state == DescriptorState::Closed)
        .collect();
    let files = closed.iter().map(|closed| closed.was).collect();
    let left = still_open(tables, &files);
    let has_exited =
        |was: Descriptor| was.is_unique() && left.as_ref().is_some_and(|left| !left.contains(&was));
    for descriptor in closed {
        if !has_exited(descriptor.was) {
            *descriptor.state = DescriptorState::NumberClosed;
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
    use crate::proc::descriptor::state_of;

    /// The state found for a number of this process after the descriptor was closed.
    fn once_closed(fd: impl AsFd) -> DescriptorState {
        let me = std::process::id();
        // A high number, which no other test gets meanwhile.
        let high = rustix::io::fcntl_dupfd_cloexec(&fd, 900).expect("a free number");
        let number = high.as_raw_fd() as u64;
        let DescriptorState::Open(was) = state_of(me, number) else {
            panic!("not open");
        };
        drop((fd, high));
        let mut state = state_of(me, number);
        let changed = Changed {
            fd: number,
            was,
            state: &mut state,
        };
        confirm(me, &mut [changed]);
        state
    }

    // CT-15
    #[test]
    fn a_file_with_another_number_is_not_closed() {
        let (reader, writer) = rustix::pipe::pipe().expect("a descriptor");
        let duplicate = reader.try_clone().expect("a descriptor");
        assert_eq!(once_closed(reader), DescriptorState::NumberClosed);
        assert_eq!(
            once_closed(duplicate),
            DescriptorState::Closed,
            "the last number"
        );
        assert_eq!(once_closed(writer), DescriptorState::Closed);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let duplicate = socket.try_clone().expect("a descriptor");
        assert_eq!(once_closed(socket), DescriptorState::NumberClosed);
        assert_eq!(once_closed(duplicate), DescriptorState::Closed);
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
            let mut state = DescriptorState::Closed;
            let changed = Changed {
                fd: 17,
                was,
                state: &mut state,
            };
            confirm_in(&tables, &mut [changed]);
            state
        };
        let socket = Descriptor::Socket(4711);
        link("/dev/null", "0");
        assert_eq!(found(false, socket), DescriptorState::Closed);
        assert_eq!(found(true, socket), DescriptorState::NumberClosed);
        assert_eq!(
            found(false, Descriptor::Event),
            DescriptorState::NumberClosed
        );
        link("anon_inode:[io_uring]", "1");
        assert_eq!(found(false, socket), DescriptorState::NumberClosed);
    }
}
