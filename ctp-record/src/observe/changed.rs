//! Numbers that stand no more for what they did: whether that is so in all of their process, and
//! whether the same thing is still there under another number.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use crate::proc::descriptor::{Descriptor, Held};
use crate::proc::descriptor_tables::Tables;

/// Links of one process that are read in one go, for some 40 ms. Of one that has more it is not known
/// what else stands for the same thing.
const MOST_LINKS: usize = 1 << 13;

/// A number that stands no more for what it did.
#[derive(Debug)]
pub(super) struct Changed<'a> {
    pub fd: u64,
    /// What it stood for.
    pub was: Descriptor,
    /// What it is in the table of the process, and then in all.
    pub held: &'a mut Held,
}

/// Looks at all tables of their process.
pub(super) fn confirm(pid: u32, changed: &mut [Changed]) {
    let tables = Tables::of(pid);
    let links = |tables: &Tables| tables.directories.len() * changed.len();
    match tables.filter(|tables| links(tables) <= MOST_LINKS) {
        Some(tables) => confirm_in(&tables, changed),
        None => detach(changed),
    }
}

/// Of these nothing is known.
pub(super) fn detach(changed: &mut [Changed]) {
    changed
        .iter_mut()
        .for_each(|changed| *changed.held = Held::Unknown);
}

fn confirm_in(tables: &Tables, changed: &mut [Changed]) {
    for other_changed in &mut *changed {
        *other_changed.held = tables.look(other_changed.fd, other_changed.was);
    }
    let is_closed = |changed: &&mut Changed| *changed.held == Held::Closed;
    let closed: Vec<_> = changed.iter_mut().filter(is_closed).collect();
    let things = closed.iter().map(|closed| closed.was).collect();
    let left = what_is_left(tables, &things);
    let has_exited =
        |was: Descriptor| was.is_unique() && left.as_ref().is_some_and(|left| !left.contains(&was));
    for other_changed in closed {
        if !has_exited(other_changed.was) {
            *other_changed.held = Held::NumberClosed;
        }
    }
}

/// Which of these things their process has under any number. Nothing if more than what is seen could
/// matter: it is not known which of several tables a number is of, there are too many links, or a
/// ring of the kernel's (`io_uring`) may keep what has no number any more, or have numbers of its own.
fn what_is_left(tables: &Tables, things: &HashSet<Descriptor>) -> Option<HashSet<Descriptor>> {
    if tables.has_own || !things.iter().any(|thing| thing.is_unique()) {
        return None;
    }
    let mut found = HashSet::new();
    let mut links = 0..MOST_LINKS;
    for directory in &tables.directories {
        for link in fs::read_dir(directory).ok()? {
            links.next()?;
            match Descriptor::at(&link.ok()?.path()) {
                Ok(Descriptor::Ring) => return None,
                Ok(descriptor) => found.extend(things.get(&descriptor)),
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

    /// What is found of a number that is open in this process, once it is closed.
    fn once_closed(fd: impl AsFd) -> Held {
        let me = std::process::id();
        // No other test gets this number meanwhile.
        let high = rustix::io::fcntl_dupfd_cloexec(&fd, 900).expect("there is room");
        let number = high.as_raw_fd() as u64;
        let Held::Open(was) = look(me, number) else {
            panic!("it is open");
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
    fn what_has_another_number_is_not_gone() {
        let (reader, writer) = rustix::pipe::pipe().expect("can be made");
        let duplicate = reader.try_clone().expect("can be made");
        assert_eq!(once_closed(reader), Held::NumberClosed);
        assert_eq!(once_closed(duplicate), Held::Closed, "that is the end");
        assert_eq!(once_closed(writer), Held::Closed);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("can be bound");
        let duplicate = socket.try_clone().expect("can be made");
        assert_eq!(once_closed(socket), Held::NumberClosed);
        assert_eq!(once_closed(duplicate), Held::Closed);
    }

    // CT-15
    #[test]
    fn where_more_than_the_table_counts_nothing_is_gone() {
        let room = tempfile::tempdir().expect("a directory can be made");
        let link = |to, name| symlink(to, room.path().join(name)).expect("can be made");
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
