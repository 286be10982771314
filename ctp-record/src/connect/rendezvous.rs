//! The sockets of the recorder, in a private directory: programs connect to the first to request memory
//! and to wake the recorder, and `ctp-record control` connects to the second.

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
use rustix::net::{
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, sendmsg, shutdown,
};
use rustix::process::geteuid;

use crate::connect::credentials;
use crate::connect::leftovers;

/// The listening sockets. Dropping this removes them.
#[derive(Debug)]
pub struct Rendezvous {
    directory: PathBuf,
    listener: UnixListener,
    /// The socket of `ctp-record control`, or why there is none.
    control: io::Result<UnixListener>,
    /// A descriptor that is closed when no other is left, so that a connection can be accepted and rejected.
    spare: RefCell<Option<OwnedFd>>,
}

/// A program that connected.
#[derive(Debug)]
pub struct Caller {
    /// The connection. `None` if no descriptor was left for it. Then the connection was closed, so the program
    /// knows that it cannot wake the recorder.
    pub socket: Option<OwnedFd>,
    /// The process id of the program, if the kernel reports one.
    pub pid: Option<u32>,
    /// The program's request for memory, if it was read before the connection was closed.
    pub requested: Option<MemoryRequest>,
}

impl Caller {
    /// Whether the program that connected still runs. The connection is closed when it ends or calls `exec`.
    pub fn is_connected(&self) -> bool {
        self.socket.as_ref().is_none_or(is_open)
    }
}

/// Whether the other end is open.
pub fn is_open(socket: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(socket, PollFlags::RDHUP)];
    poll(&mut ends, Some(&Timespec::default())) == Ok(0)
}

/// Reads the request for memory from the first bytes on this connection. `None` if no request has arrived.
pub fn read_request(socket: impl AsFd) -> Option<MemoryRequest> {
    let mut bytes = [0; 64];
    let length = read(socket, &mut bytes).ok()?;
    MemoryRequest::from_bytes(bytes.get(..length)?)
}

/// Reads the request for memory on a connection that is about to be closed. A process that has not sent its request by
/// now can no longer do so, and counts itself as unreached. So each process is counted once.
pub fn last_request(socket: impl AsFd) -> Option<MemoryRequest> {
    // Fails only if the other end is closed already, which then sends nothing more either.
    let _ = shutdown(&socket, Shutdown::Read);
    read_request(socket)
}

/// Name of the socket to which programs connect.
pub const SOCK: &str = "sock";
/// Name of the socket for control, in the same directory.
pub const CONTROL: &str = "control";

/// Maximum number of attempts to find an unused name.
const TRIES: u32 = 100;

impl Rendezvous {
    /// Creates the directory (mode 0700) and the sockets.
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
        rendezvous.reserve_descriptor();
        Ok(rendezvous)
    }

    /// Removes what killed recorders left in the same parent directory.
    pub fn remove_leftovers(&self) {
        if let Some(parent) = self.directory.parent() {
            leftovers::remove_sockets(parent);
        }
    }

    /// Removes the directory and its sockets. Existing connections stay open; new ones are impossible.
    pub fn remove(&self) {
        // If it cannot be removed, an empty directory stays behind.
        let _ = fs::remove_file(self.path());
        let _ = fs::remove_file(self.directory.join(CONTROL));
        let _ = fs::remove_dir(&self.directory);
    }

    /// The path to which programs connect.
    pub fn path(&self) -> PathBuf {
        self.directory.join(SOCK)
    }

    /// Becomes readable when a program connects.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Becomes readable when `ctp-record control` connects.
    ///
    /// # Errors
    /// Those of the kernel when the socket was created. The recording runs without control.
    pub fn control(&self) -> Result<&UnixListener, &io::Error> {
        self.control.as_ref()
    }

    /// Accepts the next program that has connected.
    pub fn accept(&self) -> Option<Caller> {
        self.reserve_descriptor();
        match self.listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(true).ok()?;
                Some(Caller {
                    pid: pid_of(&stream),
                    socket: Some(stream.into()),
                    requested: None,
                })
            }
            Err(error) if is_no_descriptor_left(&error) => self.reject_caller(),
            Err(_) => None,
        }
    }

    /// Accepts the next control connection, unless its user may not control the recording.
    pub fn accept_control(&self) -> Option<UnixStream> {
        let control = self.control.as_ref().ok()?;
        match control.accept() {
            Ok((stream, _)) => may_control(&stream).then_some(stream),
            Err(error) if is_no_descriptor_left(&error) => {
                self.accept_briefly(control, |_| ());
                None
            }
            Err(_) => None,
        }
    }

    /// Accepts a program for which no descriptor is left, reads its process id and request, and closes the
    /// connection.
    fn reject_caller(&self) -> Option<Caller> {
        self.accept_briefly(&self.listener, |stream| Caller {
            pid: pid_of(stream),
            requested: stream
                .set_nonblocking(true)
                .ok()
                .and_then(|()| last_request(stream)),
            socket: None,
        })
    }

    /// Accepts the next connection with the spare descriptor, and closes the connection after `learn`. If the
    /// connection stayed pending, it would keep the recorder awake.
    fn accept_briefly<T>(&self, listener: &UnixListener, learn: fn(&UnixStream) -> T) -> Option<T> {
        drop(self.spare.take()?);
        let learned = listener.accept().ok().map(|(stream, _)| learn(&stream));
        self.reserve_descriptor();
        learned
    }

    /// Opens the spare descriptor again. May fail if another thread took the last descriptor.
    fn reserve_descriptor(&self) {
        let spare = &mut *self.spare.borrow_mut();
        if spare.is_none() {
            *spare = self.listener.try_clone().ok().map(OwnedFd::from);
        }
    }
}

fn pid_of(stream: &UnixStream) -> Option<u32> {
    credentials::of(stream)?.pid
}

/// Whether the peer may control this process: the same user or root.
fn may_control(stream: &UnixStream) -> bool {
    let peer = credentials::of(stream);
    peer.is_some_and(|peer| peer.uid == 0 || peer.uid == geteuid().as_raw())
}

/// Whether the process or the machine has reached its limit of open files.
pub fn is_no_descriptor_left(error: &io::Error) -> bool {
    let numbers = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|number| numbers.contains(&number))
}

/// Sends memory to the process that requested it, or a denial.
///
/// # Errors
/// Those of the kernel: the process hung up, or has not read earlier messages.
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

/// `TMPDIR`, or `/tmp` if the path of a socket would be too long for the kernel.
fn parent() -> PathBuf {
    let preferred = std::env::temp_dir();
    if preferred.as_os_str().len() <= MAX_PARENT_BYTES {
        preferred
    } else {
        PathBuf::from("/tmp")
    }
}

/// The kernel's limit for the path of a socket, 107 bytes, less the length of `/ctp-4194304-99/control`.
const MAX_PARENT_BYTES: usize = 84;

/// A private directory, the socket of programs, and the socket of control.
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
            // A recorder in another pid namespace removed the directory, which looked left over.
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

/// Creates a socket at `path` that listens without blocking. Removes the path if listening fails.
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
    fn a_caller_is_connected_until_the_end_is_closed() {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
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
