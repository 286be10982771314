//! Sessions on tokio read frames from their clients in a `select!` beside a tick, which drops the future
//! that reads. The branches are polled in random order, for which the compiler duplicates their code.
//!
//! The frames of two clients arrive in halves: a tick in between loses the first half. The session then
//! takes the second half for the header of a long frame, and the client waits for its answer. With
//! `whole`, all frames arrive whole.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{interval, sleep};

/// Frames of each client before its first frame in halves.
const WHOLE_FRAMES: u32 = 100;

/// Bytes in a frame behind its length.
const LENGTH: usize = 64;

/// How many clients there are.
const CLIENTS: u32 = 4;

/// How many of them send their frames in halves.
const CLIENTS_WITH_HALVES: u32 = 2;

/// Clients that have sent [`WHOLE_FRAMES`], however long a busy machine takes for that.
static READY: AtomicU32 = AtomicU32::new(0);

/// The sessions, by number.
static SESSIONS: [Session; CLIENTS as usize] = [const { Session::new() }; CLIENTS as usize];

/// When a session began to read the body of a frame. If the poll that began it also drops it, because
/// its tick fell due meanwhile, the recording has no wait for the body, and nothing proves the loss.
struct Session {
    polls: AtomicU32,
    /// The number of the poll that began to read the current frame's body; 0 before that.
    body_poll: AtomicU32,
    is_loss_visible: AtomicBool,
}

impl Session {
    const fn new() -> Self {
        Session {
            polls: AtomicU32::new(0),
            body_poll: AtomicU32::new(0),
            is_loss_visible: AtomicBool::new(false),
        }
    }

    fn begin_body(&self) {
        let poll = self.polls.load(Ordering::Relaxed);
        self.body_poll.store(poll, Ordering::Relaxed);
    }

    fn end_frame(&self) {
        self.body_poll.store(0, Ordering::Relaxed);
    }

    fn drop_frame(&self) {
        let poll = self.body_poll.swap(0, Ordering::Relaxed);
        if poll != 0 {
            let is_visible = poll != self.polls.load(Ordering::Relaxed);
            self.is_loss_visible.store(is_visible, Ordering::Relaxed);
        }
    }

    /// Counts the polls of the session's future.
    async fn count_polls<T>(&self, session: impl Future<Output = T>) -> T {
        let mut session = pin!(session);
        let poll = poll_fn(|context| {
            self.polls.fetch_add(1, Ordering::Relaxed);
            session.as_mut().poll(context)
        });
        poll.await
    }
}

async fn read_frame(stream: &mut TcpStream, session: &Session) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    session.begin_body();
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await?;
    session.end_frame();
    Ok(frame)
}

async fn serve(
    mut stream: TcpStream,
    session: &Session,
    name: String,
    truth: GroundTruth,
) -> io::Result<()> {
    let mut tick = interval(Duration::from_millis(20));
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let is_frame = tokio::select! {
            frame = read_frame(&mut stream, session) => frame.map(|_| true)?,
            _ = tick.tick() => false,
        };
        if is_frame {
            stream.write_u8(1).await?;
        } else {
            session.drop_frame();
        }
    }
}

async fn ask(
    mut stream: TcpStream,
    in_halves: bool,
    name: String,
    truth: GroundTruth,
) -> io::Result<()> {
    let mut frame = (LENGTH as u32).to_be_bytes().to_vec();
    frame.extend([1; LENGTH]);
    for round in 0.. {
        if round == WHOLE_FRAMES {
            READY.fetch_add(1, Ordering::Relaxed);
        }
        if in_halves && WHOLE_FRAMES <= round {
            let (first, second) = frame.split_at(frame.len() / 2);
            stream.write_all(first).await?;
            sleep(Duration::from_millis(50)).await;
            stream.write_all(second).await?;
        } else {
            stream.write_all(&frame).await?;
        }
        let _waiting = truth.enter(&name, line!() + 1);
        stream.read_u8().await?;
        sleep(Duration::from_millis(3)).await;
    }
    Ok(())
}

/// Whether the coroutine with this name is a session that lost a frame in a way that shows.
fn is_proven(name: &str) -> bool {
    let number = name.strip_prefix("session-");
    let session = number.and_then(|number| SESSIONS.get(number.parse::<usize>().ok()?));
    session.is_some_and(|session| session.is_loss_visible.load(Ordering::Relaxed))
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let in_halves = std::env::args().all(|argument| argument != "whole");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    for number in 0..CLIENTS {
        let client = runtime.block_on(TcpStream::connect(address))?;
        let (stream, _) = runtime.block_on(listener.accept())?;
        let name = format!("session-{number}");
        let session = &SESSIONS[number as usize];
        let serving = serve(stream, session, name.clone(), truth.clone());
        runtime.spawn(session.count_polls(serving).traced_as(&name));
        let name = format!("client-{number}");
        let sends_halves = in_halves && number < CLIENTS_WITH_HALVES;
        let client = ask(client, sends_halves, name.clone(), truth.clone());
        runtime.spawn(client.traced_as(&name));
    }
    while READY.load(Ordering::Relaxed) < CLIENTS {
        std::thread::sleep(Duration::from_millis(10));
    }
    truth.let_wait(Duration::from_secs(4));
    // The clients of the two sessions hang too, but a read without an answer proves nothing.
    let has_halves = |name: &str| in_halves && (name.ends_with("-0") || name.ends_with("-1"));
    truth.record_with_victims(|name| has_halves(name) && is_proven(name), has_halves);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
