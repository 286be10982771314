//! The socket at which programs ring: in a directory of its own that nobody else can enter.

use std::fs::{self, DirBuilder};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use ctp_nostd::request::{DENIED, GRANTED};
use rustix::cmsg_space;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// A listening socket. Dropping it removes it.
#[derive(Debug)]
pub struct Rendezvous {
    directory: PathBuf,
    listener: UnixListener,
}

/// A program that connected.
#[derive(Debug)]
pub struct Caller {
    /// Its end.
    pub socket: OwnedFd,
    /// Its process id, if the kernel tells.
    pub pid: Option<u32>,
}

/// Attempts at a name that nobody has taken.
const TRIES: u32 = 100;

impl Rendezvous {
    /// Makes the directory (mode 0700, new) and the socket in it.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn open() -> io::Result<Self> {
        let directory = private_directory(&parent())?;
        let listener = UnixListener::bind(directory.join("sock"));
        let listener = listener.inspect_err(|_| drop(fs::remove_dir(&directory)))?;
        listener.set_nonblocking(true)?;
        Ok(Rendezvous {
            directory,
            listener,
        })
    }

    /// What programs connect to.
    pub fn path(&self) -> PathBuf {
        self.directory.join("sock")
    }

    /// What becomes readable when one connects.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// The next one that connected, if any.
    pub fn accept(&self) -> Option<Caller> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        let credentials = socket_peercred(&stream).ok();
        let pid = credentials.map(|them| them.pid.as_raw_nonzero().get() as u32);
        Some(Caller {
            socket: stream.into(),
            pid,
        })
    }
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
        // If it cannot be removed, an empty directory stays behind.
        let _ = fs::remove_file(self.path());
        let _ = fs::remove_dir(&self.directory);
    }
}

/// TMPDIR, unless the name of a socket in it would be too long for the kernel.
fn parent() -> PathBuf {
    let wanted = std::env::temp_dir();
    match wanted.as_os_str().len() <= LONGEST_PARENT {
        true => wanted,
        false => PathBuf::from("/tmp"),
    }
}

/// 107 bytes less `/ctp-4194304-99/sock`.
const LONGEST_PARENT: usize = 87;

fn private_directory(parent: &Path) -> io::Result<PathBuf> {
    let pid = std::process::id();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for number in 0..TRIES {
        let path = parent.join(format!("ctp-{pid}-{number}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
