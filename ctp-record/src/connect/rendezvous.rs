//! The socket at which programs ring, and the one for control: in a directory of their own that
//! nobody else can enter.

use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use ctp_nostd::request::{DENIED, GRANTED, MemoryRequest};
use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::geteuid;

use crate::connect::credentials;
use crate::connect::leftovers;

/// A listening socket. Dropping it removes it.
#[derive(Debug)]
pub struct Rendezvous {
    directory: PathBuf,
    listener: UnixListener,
    /// Where `ctp-record control` asks, or why nothing can.
    control: io::Result<UnixListener>,
    /// Given up to let somebody in when there is no other descriptor left.
    spare: RefCell<Option<OwnedFd>>,
}

/// A program that connected.
#[derive(Debug)]
pub struct Caller {
    /// Its end; nothing where no descriptor was left for it. It cannot ring then, and knows.
    pub socket: Option<OwnedFd>,
    /// Its process id, if the kernel tells.
    pub pid: Option<u32>,
    /// What it asked for, as far as that was heard before the descriptor was given up.
    pub requested: Option<MemoryRequest>,
}

impl Caller {
    /// Is the image that called still there? Its end and an exec close what it called from.
    pub fn is_connected(&self) -> bool {
        self.socket.as_ref().is_none_or(is_open)
    }
}

/// Has the other end not been closed?
pub fn is_open(socket: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(socket, PollFlags::RDHUP)];
    poll(&mut ends, Some(&Timespec::default())) == Ok(0)
}

/// What the process at the other end has asked for by now, in the first bytes that it sent.
pub fn heard(socket: impl AsFd) -> Option<MemoryRequest> {
    let mut bytes = [0; 64];
    let heard = read(socket, &mut bytes).ok()?;
    MemoryRequest::from_bytes(bytes.get(..heard)?)
}

/// Name of the socket at which programs ring.
pub const SOCK: &str = "sock";
/// Name of the socket for control, beside the one of programs.
pub const CONTROL: &str = "control";

/// Attempts at a name that nobody has taken.
const TRIES: u32 = 100;

impl Rendezvous {
    /// Makes the directory (mode 0700, new) and the socket in it.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn open() -> io::Result<Self> {
        let (directory, listener, control) = listen_in_private(&parent())?;
        let rendezvous = Rendezvous {
            directory,
            listener,
            control,
            spare: RefCell::default(),
        };
        rendezvous.listener.set_nonblocking(true)?;
        rendezvous.have_a_spare();
        Ok(rendezvous)
    }

    /// Takes away what recorders that were killed left where this one's directory is.
    pub fn remove_leftovers(&self) {
        if let Some(parent) = self.directory.parent() {
            leftovers::remove_sockets(parent);
        }
    }

    /// Removes the directory and its sockets. No process connects any more; those that have connected stay so.
    pub fn remove(&self) {
        // If it cannot be removed, an empty directory stays behind.
        let _ = fs::remove_file(self.path());
        let _ = fs::remove_file(self.directory.join(CONTROL));
        let _ = fs::remove_dir(&self.directory);
    }

    /// What programs connect to.
    pub fn path(&self) -> PathBuf {
        self.directory.join(SOCK)
    }

    /// What becomes readable when one connects.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// What becomes readable when `ctp-record control` asks.
    ///
    /// # Errors
    /// Those of the kernel when the socket was made: the recording goes on without.
    pub fn control(&self) -> Result<&UnixListener, &io::Error> {
        self.control.as_ref()
    }

    /// The next one that connected, if any.
    pub fn accept(&self) -> Option<Caller> {
        self.have_a_spare();
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true).ok()?;
                Some(Caller {
                    pid: pid_of(&stream),
                    socket: Some(stream.into()),
                    requested: None,
                })
            }
            Err(error) if is_no_descriptor_left(&error) => self.turn_away(),
            Err(_) => None,
        }
    }

    /// The next one that wants to control the recording, if any.
    pub fn accept_control(&self) -> Option<UnixStream> {
        let control = self.control.as_ref().ok()?;
        match control.accept() {
            Ok((stream, _)) => may_control(&stream).then_some(stream),
            Err(error) if is_no_descriptor_left(&error) => {
                self.pick_up(control, |_| ());
                None
            }
            Err(_) => None,
        }
    }

    /// Learns which process calls and what for, and hangs up. A process that waits at the door would keep
    /// the recorder awake.
    fn turn_away(&self) -> Option<Caller> {
        self.pick_up(&self.listener, |stream| Caller {
            pid: pid_of(stream),
            requested: stream
                .set_nonblocking(true)
                .ok()
                .and_then(|()| heard(stream)),
            socket: None,
        })
    }

    /// Takes a caller for a moment, with the descriptor that is spared for that: as long as one waits
    /// to be let in, the recorder would not sleep.
    fn pick_up<T>(&self, listener: &UnixListener, learn: fn(&UnixStream) -> T) -> Option<T> {
        drop(self.spare.take()?);
        let learned = listener.accept().ok().map(|(stream, _)| learn(&stream));
        self.have_a_spare();
        learned
    }

    /// Another thread may have taken the descriptor that was given up for a moment.
    fn have_a_spare(&self) {
        let spare = &mut *self.spare.borrow_mut();
        if spare.is_none() {
            *spare = self.listener.try_clone().ok().map(OwnedFd::from);
        }
    }
}

fn pid_of(stream: &UnixStream) -> Option<u32> {
    credentials::of(stream)?.pid
}

/// The user of this process, and root, may control it.
fn may_control(stream: &UnixStream) -> bool {
    let peer = credentials::of(stream);
    peer.is_some_and(|peer| peer.uid == 0 || peer.uid == geteuid().as_raw())
}

/// Are there as many open files as this process, or the machine, may have?
pub fn is_no_descriptor_left(error: &io::Error) -> bool {
    let numbers = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|number| numbers.contains(&number))
}

/// Sends memory to the process that asked for it, or that there is none.
///
/// # Errors
/// Those of the kernel: it hung up, or has read nothing that was sent so far.
pub fn answer(socket: &OwnedFd, memory: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = memory.map(AsFd::as_fd);
    let mut word = DENIED;
    if descriptors.is_some()
        && control.push(SendAncillaryMessage::ScmRights(descriptors.as_slice()))
    {
        word = GRANTED;
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(&[word])], &mut control, flags)?;
    Ok(())
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        self.remove();
    }
}

/// TMPDIR, unless the name of a socket in it would be too long for the kernel.
fn parent() -> PathBuf {
    let preferred = std::env::temp_dir();
    match preferred.as_os_str().len() <= LONGEST_PARENT {
        true => preferred,
        false => PathBuf::from("/tmp"),
    }
}

/// 107 bytes less `/ctp-4194304-99/control`.
const LONGEST_PARENT: usize = 84;

/// A directory of our own, what programs connect to, and what `ctp-record control` connects to.
type Private = (PathBuf, UnixListener, io::Result<UnixListener>);

fn listen_in_private(parent: &Path) -> io::Result<Private> {
    let pid = std::process::id();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..TRIES {
        let directory = parent.join(format!("ctp-{pid}-{number}"));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        }
        match listen_in(&directory) {
            Ok((listener, control)) => return Ok((directory, listener, control)),
            // A recorder in another process namespace took it for left over while it was empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => last = error,
            Err(error) => {
                // If it cannot be removed, an empty directory stays behind.
                let _ = fs::remove_dir(&directory);
                return Err(error);
            }
        }
    }
    Err(last)
}

fn listen_in(directory: &Path) -> io::Result<(UnixListener, io::Result<UnixListener>)> {
    let listener = listen_at(&directory.join(SOCK))?;
    match listen_at(&directory.join(CONTROL)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        control => Ok((listener, control)),
    }
}

/// One that cannot be listened at leaves no name behind.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // CTP-33
    #[test]
    fn a_caller_is_there_until_its_end_is_closed() {
        let (ours, theirs) = UnixStream::pair().expect("a pair can be made");
        let caller = Caller {
            socket: Some(ours.into()),
            pid: None,
            requested: None,
        };
        assert!(caller.is_connected());
        drop(theirs);
        assert!(!caller.is_connected());
    }
}
