//! Seven tasks read frames of four bytes from connections. A one-shot epoll reports each connection
//! once and has to be rearmed. After part of a frame the reader forgets to rearm: three tasks get
//! frames in two parts, and the second part wakes none of them. Two get whole frames, and two
//! nothing.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_nostd as ctp;
use ctp_zoo::{GroundTruth, Order, Toy};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// The waker for each connection.
struct Reactor {
    epoll: OwnedFd,
    waiting: Mutex<HashMap<u64, Waker>>,
}

impl Reactor {
    fn new() -> io::Result<Arc<Self>> {
        let reactor = Arc::new(Reactor {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            waiting: Mutex::default(),
        });
        let watching = Arc::clone(&reactor);
        thread::spawn(move || while watching.serve().is_ok() {});
        Ok(reactor)
    }

    fn serve(&self) -> io::Result<()> {
        let mut ready: Vec<Event> = Vec::with_capacity(8);
        epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut ready),
            None,
        )?;
        for event in ready {
            let waker = self.waiting().remove(&event.data.u64());
            if let Some(waker) = waker {
                waker.wake();
            }
        }
        Ok(())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Waker>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Connection {
    stream: TcpStream,
    reactor: Arc<Reactor>,
}

impl Connection {
    fn new(stream: TcpStream, reactor: &Arc<Reactor>) -> io::Result<Arc<Self>> {
        stream.set_nonblocking(true)?;
        let number = EventData::new_u64(stream.as_raw_fd() as u64);
        epoll::add(&reactor.epoll, &stream, number, EventFlags::ONESHOT)?;
        let reactor = Arc::clone(reactor);
        Ok(Arc::new(Connection { stream, reactor }))
    }

    /// Waits for a whole frame.
    #[track_caller]
    fn frame(&self) -> Frame<'_> {
        Frame {
            connection: self,
            read: 0,
            wait: ctp::Wait::readable(self.stream.as_raw_fd()),
        }
    }

    fn ask(&self) {
        let number = EventData::new_u64(self.stream.as_raw_fd() as u64);
        let once = EventFlags::IN | EventFlags::ONESHOT;
        epoll::modify(&self.reactor.epoll, &self.stream, number, once).expect("present");
    }
}

/// The future of [`Connection::frame`]: whether there is another frame.
struct Frame<'c> {
    connection: &'c Connection,
    read: usize,
    wait: ctp::Wait,
}

impl Future for Frame<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let Connection { stream, reactor } = self.connection;
        while self.read < 4 {
            let mut room = [0; 4];
            match rustix::io::read(stream, &mut room[self.read..]) {
                Err(Errno::AGAIN) => {
                    let number = stream.as_raw_fd() as u64;
                    reactor.waiting().insert(number, context.waker().clone());
                    if self.read == 0 {
                        self.connection.ask();
                    }
                    ctp::waits_for_in(self.wait, context);
                    return Poll::Pending;
                }
                Err(_) | Ok(0) => return Poll::Ready(false),
                Ok(bytes) => self.read += bytes,
            }
        }
        Poll::Ready(true)
    }
}

async fn read_frames(connection: Arc<Connection>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if !connection.frame().await {
            return;
        }
    }
}

fn main() -> io::Result<()> {
    ctp::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 2), GroundTruth::new());
    let (reactor, listener) = (Reactor::new()?, TcpListener::bind("127.0.0.1:0")?);
    let mut clients = Vec::new();
    for name in [
        "whole-1", "whole-2", "idle-1", "idle-2", "halved-1", "halved-2", "halved-3",
    ] {
        clients.push(TcpStream::connect(listener.local_addr()?)?);
        let connection = Connection::new(listener.accept()?.0, &reactor)?;
        toy.spawn(name, read_frames(connection, name.into(), truth.clone()));
    }
    let (whole, others) = clients.split_at_mut(2);
    for round in 0..700 {
        for client in &mut *whole {
            client.write_all(b"pong")?;
        }
        match round {
            50 => others[2..]
                .iter_mut()
                .try_for_each(|other| other.write_all(b"pi"))?,
            100 => others[2].write_all(b"ng")?,
            _ => {}
        }
        sleep(Duration::from_millis(10));
    }
    truth.record(|name| name.starts_with("halved"));
    Ok(())
}
