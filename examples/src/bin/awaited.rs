//! The trace should show five coroutines that look stuck in `read_frame`, awaited by `handshake`:
//! twenty others waited there for milliseconds. Two more wait in `read_frame` for a `transfer`,
//! which has no history, one of them until it is late. One waits in `descend`, which awaits itself
//! forty times, and one in `forsaken`, where it gave out no waker since it slept. One waits in
//! `turn_away` for words, and no longer for the bell.
//! Built with frame pointers (`RUSTFLAGS="-C force-frame-pointers=yes"`) the report distinguishes
//! them; otherwise all of them are in `serve`.
//!
//! A line for each waiting coroutine has its await chain, the innermost function first, with lines.

use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::{Notify, mpsc};

const HANDLED: usize = 20;
const HANDSHAKES: usize = 5;
const TRANSFERS: usize = 2;
const DEPTH: u32 = 40;
const PAUSE: Duration = Duration::from_millis(5);
/// Never comes to pass.
const LATE: Duration = Duration::from_secs(3_600);
/// Longer than what is worth a word.
const END: Duration = Duration::from_millis(1_500);

/// Where a coroutine is: function and line, the outermost first.
#[derive(Clone, Default)]
struct Path(Arc<Mutex<Vec<(&'static str, u32)>>>);

impl Path {
    /// Announces an await at this line of this function.
    fn enter(&self, function: &'static str, line: u32) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.push((function, line));
    }

    fn print(&self, name: &str) {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = steps.iter().rev();
        let steps: Vec<String> = steps.map(|(at, line)| format!("{at}:{line}")).collect();
        println!("{name} {}", steps.join(" "));
    }
}

async fn read_frame(conn: &mut DuplexStream, path: &Path) -> io::Result<u32> {
    path.enter("read_frame", line!() + 1);
    conn.read_u32().await
}

async fn handshake(conn: &mut DuplexStream, path: &Path) -> io::Result<u32> {
    path.enter("handshake", line!() + 1);
    let version = read_frame(conn, path).await?;
    Ok(version.min(2))
}

async fn transfer(conn: &mut DuplexStream, path: &Path) -> io::Result<u32> {
    // Is over, and takes a waker all the same, in the poll in which the frame is awaited.
    tokio::time::sleep(PAUSE).await;
    path.enter("transfer", line!() + 1);
    let size = read_frame(conn, path).await?;
    Ok(size)
}

async fn until_late(conn: &mut DuplexStream, path: &Path) -> io::Result<u32> {
    path.enter("until_late", line!() + 1);
    tokio::select! {
        biased; // so that the frame is what is awaited first
        frame = read_frame(conn, path) => frame,
        () = tokio::time::sleep(LATE) => Ok(0),
    }
}

async fn serve(mut conn: DuplexStream, shakes_hands: bool, path: Path) -> io::Result<u32> {
    if shakes_hands {
        path.enter("serve", line!() + 1);
        return handshake(&mut conn, &path).await;
    }
    path.enter("serve", line!() + 1);
    transfer(&mut conn, &path).await
}

/// The first wait takes a waker in the poll in which it ends, the second takes none.
async fn forsaken() {
    tokio::time::sleep(PAUSE).await;
    pending().await
}

/// Announces the resource, but not the function, like the wrapper of a library's lock.
async fn announced_wait(wake_flag: &Notify, wait: ctp::Wait) {
    let mut was_woken = pin!(wake_flag.notified());
    poll_fn(|context| {
        let polled = was_woken.as_mut().poll(context);
        if polled.is_pending() {
            ctp::waits_for_in(wait, context);
        }
        polled
    })
    .await;
}

/// The announced wait has ended, in a poll that found a waker of that wait's resource.
async fn turn_away(wake_flag: Notify, mut words: mpsc::Receiver<()>) {
    tokio::select! {
        biased;
        () = announced_wait(&wake_flag, ctp::Wait::user(1)) => {}
        () = tokio::time::sleep(PAUSE) => {}
        _ = words.recv() => {}
    }
    words.recv().await; // here, and not for the bell
}

/// Its own future is not a part of itself, but boxed.
fn descend(depth: u32, wake_flag: &Notify) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
    Box::pin(async move {
        match depth {
            0 => wake_flag.notified().await,
            _ => descend(depth - 1, wake_flag).await,
        }
    })
}

/// A client that sends its role, and hangs up.
async fn greet(mut conn: DuplexStream) -> io::Result<()> {
    tokio::time::sleep(Duration::from_millis(2)).await;
    conn.write_u32(1).await
}

fn main() -> io::Result<()> {
    ctp::attach(); // before the runtime starts its threads
    let runtime = tokio::runtime::Runtime::new()?;
    let paths: [Path; HANDSHAKES + TRANSFERS] = Default::default();
    let late = Path::default();
    let mut silent = Vec::new();
    let all = async {
        for _ in 0..HANDLED {
            let (conn, peer) = duplex(64);
            tokio::spawn(greet(peer));
            tokio::spawn(serve(conn, true, Path::default()).traced());
        }
        for (number, path) in paths.iter().enumerate() {
            let (conn, peer) = duplex(64);
            silent.push(peer);
            tokio::spawn(serve(conn, number < HANDSHAKES, path.clone()).traced());
        }
        let (mut conn, peer) = duplex(64);
        silent.push(peer);
        let path = late.clone();
        let wait = async move {
            path.enter("main", line!() + 1);
            until_late(&mut conn, &path).await
        };
        tokio::spawn(wait.traced_as("late"));
        tokio::spawn(forsaken().traced_as("forsaken"));
        let (mouth, words) = mpsc::channel(1);
        std::mem::forget(mouth);
        tokio::spawn(turn_away(Notify::new(), words).traced_as("turned away"));
        tokio::spawn(async { descend(DEPTH, &Notify::new()).await }.traced_as("deep"));
        tokio::time::sleep(END).await;
    };
    runtime.block_on(all.traced_as("main"));
    for path in &paths {
        path.print("serve");
    }
    late.print("late");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget((runtime, silent));
    Ok(())
}
