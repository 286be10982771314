//! TCP. Every call that may wait is `#[track_caller]` and returns a future that knows the line.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ctp_nostd as ctp;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, SocketFlags, SocketType};

use crate::source::{Direction, Watched};

/// Accepts connections.
#[derive(Debug)]
pub struct TcpListener {
    socket: Watched,
    address: SocketAddr,
}

/// A connection.
#[derive(Debug)]
pub struct TcpStream {
    socket: Watched,
}

/// The future of [`TcpListener::accept`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Accept<'a> {
    socket: &'a Watched,
    wait: ctp::Wait,
}

/// The future of [`connect`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Connect {
    started: Option<io::Result<Watched>>,
    address: SocketAddr,
    wait: ctp::Wait,
}

/// The future of [`TcpStream::read`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Read<'a> {
    socket: &'a Watched,
    buffer: &'a mut [u8],
    wait: ctp::Wait,
}

/// The future of [`TcpStream::write`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Write<'a> {
    socket: &'a Watched,
    bytes: &'a [u8],
    wait: ctp::Wait,
}

/// The future of [`TcpStream::write_all`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct WriteAll<'a>(Write<'a>);

impl TcpListener {
    /// Listens at an address; port 0 is any free port.
    ///
    /// # Panics
    ///
    /// Outside a runtime, like every function here that makes a socket.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(TcpListener {
            address: listener.local_addr()?,
            socket: Watched::new(OwnedFd::from(listener))?,
        })
    }

    /// The address of the listener.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next connection.
    #[track_caller]
    pub fn accept(&self) -> Accept<'_> {
        Accept {
            socket: &self.socket,
            wait: ctp::Wait::readable(self.socket.number()).idle(), // a client may never come
        }
    }
}

impl TcpStream {
    /// The number of its descriptor. After a hangup the descriptor may be closed, and the number
    /// reused.
    pub fn fd_number(&self) -> RawFd {
        self.socket.number()
    }

    /// Reads what has come; 0 is the end.
    #[track_caller]
    pub fn read<'a>(&'a self, buffer: &'a mut [u8]) -> Read<'a> {
        Read {
            socket: &self.socket,
            buffer,
            wait: ctp::Wait::readable(self.socket.number()),
        }
    }

    /// Writes as much as there is room for.
    #[track_caller]
    pub fn write<'a>(&'a self, bytes: &'a [u8]) -> Write<'a> {
        Write {
            socket: &self.socket,
            bytes,
            wait: ctp::Wait::writable(self.socket.number()),
        }
    }

    /// Writes all bytes.
    #[track_caller]
    pub fn write_all<'a>(&'a self, bytes: &'a [u8]) -> WriteAll<'a> {
        WriteAll(self.write(bytes))
    }
}

/// Connects to an address.
///
/// # Panics
///
/// Outside of a runtime.
#[track_caller]
pub fn connect(address: SocketAddr) -> Connect {
    let started = begin_connect(address);
    let number = started.as_ref().map_or(-1, Watched::number);
    Connect {
        started: Some(started),
        address,
        wait: ctp::Wait::writable(number),
    }
}

/// Epoll reports a socket that was never connected as hung up, so the reactor gets it only
/// afterwards.
fn begin_connect(address: SocketAddr) -> io::Result<Watched> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    match net::connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Watched::new(socket),
        Err(error) => Err(error.into()),
    }
}

impl Future for Connect {
    type Output = io::Result<TcpStream>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(Ok(socket)) = &this.started {
            // A second call returns the progress.
            let again = |fd: std::os::fd::BorrowedFd<'_>| match net::connect(fd, &this.address) {
                Ok(()) | Err(Errno::ISCONN) => Ok(()),
                Err(Errno::INPROGRESS | Errno::ALREADY) => Err(Errno::WOULDBLOCK),
                Err(error) => Err(error),
            };
            ready!(socket.poll_io(Direction::Write, this.wait, context, again))?;
        }
        match this.started.take() {
            Some(started) => Poll::Ready(started.map(|socket| TcpStream { socket })),
            None => panic!("a finished future was polled again"),
        }
    }
}

impl Future for Accept<'_> {
    type Output = io::Result<(TcpStream, SocketAddr)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = self
            .socket
            .poll_io(Direction::Read, self.wait, context, |fd| {
                net::acceptfrom_with(fd, flags)
            });
        let (fd, peer) = ready!(accepted)?;
        let peer = peer.ok_or(io::ErrorKind::NotConnected)?;
        let socket = Watched::new(fd)?;
        Poll::Ready(Ok((TcpStream { socket }, SocketAddr::try_from(peer)?)))
    }
}

impl Future for Read<'_> {
    type Output = io::Result<usize>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.socket
            .poll_io(Direction::Read, this.wait, context, |fd| {
                rustix::io::read(fd, &mut *this.buffer)
            })
    }
}

impl Future for Write<'_> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.socket
            .poll_io(Direction::Write, self.wait, context, |fd| {
                net::send(fd, self.bytes, SendFlags::NOSIGNAL)
            })
    }
}

impl Future for WriteAll<'_> {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while !self.0.bytes.is_empty() {
            let written = ready!(Pin::new(&mut self.0).poll(context))?;
            self.0.bytes = &self.0.bytes[written..];
        }
        Poll::Ready(Ok(()))
    }
}
