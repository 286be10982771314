//! The trace should show 47 `session` coroutines stuck at the only line that awaits `conn.read`:
//! their connections were reset, and the runtime closed them without waking the readers.
//! 3 more wait at the same line and are fine, as is the listener. With `--fixed` none is stuck.
//!
//! 50 clients exchange small frames with an echo server on `mini-rt`. After a second 47 of them
//! reset their connections, while the server waits for their next frame; 3 seconds later the
//! program ends. The ground truth that it prints is its own count.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream as Client};
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ctp_nostd as ctp;
use mini_rt::{Builder, Hangup, Runtime, TcpListener, TcpStream, spawn_named};

const RESET: usize = 47;
const HEALTHY: usize = 3;
const BEFORE_BURST: Duration = Duration::from_secs(1);
const AFTER_BURST: Duration = Duration::from_secs(3);
/// Between two frames of a client.
const PAUSE: Duration = Duration::from_millis(2);
const VISIT_EVERY: Duration = Duration::from_millis(100);
/// For what is under way to come to rest.
const SETTLE: Duration = Duration::from_millis(50);

// The server.

async fn listen(listener: TcpListener, ground_truth: Arc<GroundTruth>) -> io::Result<()> {
    loop {
        let (conn, _) = listener.accept().await?;
        let id = ground_truth.spawned.fetch_add(1, Ordering::Relaxed);
        spawn_named("session", serve(conn, id, Arc::clone(&ground_truth)));
    }
}

async fn serve(conn: TcpStream, id: u64, ground_truth: Arc<GroundTruth>) -> io::Result<()> {
    let mut inbox = Vec::new();
    while let Some(frame) = read_frame(&conn, &mut inbox, id, &ground_truth).await? {
        conn.write_all(&frame).await?;
        ground_truth.answered.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// The next frame with its length in front, or nothing at the connection's end.
async fn read_frame(
    conn: &TcpStream,
    inbox: &mut Vec<u8>,
    id: u64,
    ground_truth: &GroundTruth,
) -> io::Result<Option<Vec<u8>>> {
    let mut buf = [0; 512];
    loop {
        if let Some(frame) = take_frame(inbox) {
            return Ok(Some(frame));
        }
        let _recorded = ground_truth.reading(id, conn.fd_number());
        let n = conn.read(&mut buf).await?;
        if n == 0 {
            return Ok(None);
        }
        inbox.extend_from_slice(&buf[..n]);
    }
}

fn take_frame(inbox: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = u32::from_le_bytes(*inbox.first_chunk::<4>()?) as usize;
    if inbox.len() < 4 + length {
        return None;
    }
    Some(inbox.drain(..4 + length).collect())
}

// The ground truth: the sessions in `read`, with their start times.

#[derive(Default)]
struct GroundTruth {
    spawned: AtomicU64,
    answered: AtomicU64,
    reading: Mutex<HashMap<u64, (RawFd, Instant)>>,
}

/// While this value lives, a session is in `read`.
struct Reading<'a> {
    ground_truth: &'a GroundTruth,
    id: u64,
}

impl GroundTruth {
    fn reading(&self, id: u64, fd: RawFd) -> Reading<'_> {
        self.readers().insert(id, (fd, Instant::now()));
        Reading {
            ground_truth: self,
            id,
        }
    }

    fn readers(&self) -> MutexGuard<'_, HashMap<u64, (RawFd, Instant)>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The descriptors of sessions that entered `read` before this time and never returned.
    fn in_read_since_before(&self, time: Instant) -> Vec<RawFd> {
        let readers = self.readers();
        let early = readers.values().filter(|(_, since)| *since < time);
        let mut fds: Vec<RawFd> = early.map(|&(fd, _)| fd).collect();
        fds.sort_unstable();
        fds
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.ground_truth.readers().remove(&self.id);
    }
}

// The clients: plain threads, so that the trace shows the server alone.

fn connect(address: SocketAddr, clients: usize) -> io::Result<Vec<Client>> {
    (0..clients).map(|_| Client::connect(address)).collect()
}

/// A frame from each client, and its echo.
fn exchange(clients: &mut [Client]) -> io::Result<()> {
    let frame = *b"\x05\0\0\0hello";
    for client in &mut *clients {
        client.write_all(&frame)?;
    }
    for client in clients {
        let mut echo = [0; 9];
        client.read_exact(&mut echo)?;
        assert_eq!(echo, frame, "the echo is what was sent");
    }
    Ok(())
}

/// Keeps clients busy until stopped; returns them without a frame in flight.
fn drive(
    mut clients: Vec<Client>,
    stop: &Arc<AtomicBool>,
) -> thread::JoinHandle<io::Result<Vec<Client>>> {
    let stop = Arc::clone(stop);
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            exchange(&mut clients)?;
            thread::sleep(PAUSE);
        }
        Ok(clients)
    })
}

/// For some time, a client connects now and then, sends a greeting and leaves in good order.
fn visit(address: SocketAddr, time: Duration) -> io::Result<()> {
    let end = Instant::now() + time;
    while Instant::now() + VISIT_EVERY <= end {
        exchange(&mut connect(address, 1)?)?;
        thread::sleep(VISIT_EVERY);
    }
    Ok(())
}

/// Closes connections the rude way: the peer gets a reset instead of an orderly end.
fn reset(clients: Vec<Client>) -> io::Result<()> {
    for client in clients {
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO))?;
    }
    Ok(())
}

fn start_server(runtime: &Runtime, ground_truth: Arc<GroundTruth>) -> io::Result<SocketAddr> {
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr();
        spawn_named("listener", listen(listener, ground_truth));
        Ok(address)
    })
}

/// Gives the descriptors of the readers that never resumed.
fn print_address(
    address: SocketAddr,
    ground_truth: &GroundTruth,
    after_burst: Duration,
) -> io::Result<Vec<RawFd>> {
    println!("serving {address}, {} clients", RESET + HEALTHY);
    let [burst, end] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let doomed = drive(connect(address, RESET)?, &burst);
    let healthy = drive(connect(address, HEALTHY)?, &end);
    visit(address, BEFORE_BURST)?;

    burst.store(true, Ordering::Relaxed);
    let quiet = doomed.join().expect("no client panics")?;
    while ground_truth
        .in_read_since_before(Instant::now() - SETTLE)
        .len()
        < RESET
    {
        thread::sleep(SETTLE / 10);
    }
    let burst_at = Instant::now();
    reset(quiet)?;
    println!("burst: {RESET} clients reset");

    visit(address, after_burst)?;
    end.store(true, Ordering::Relaxed);
    let healthy = healthy.join().expect("no client panics")?;
    std::mem::forget(healthy); // their sessions are to be seen waiting at the end
    Ok(ground_truth.in_read_since_before(burst_at))
}

/// What the program is asked for.
struct Options {
    fixed: bool,
    truth: Option<String>,
    after_burst: Duration,
}

fn run(options: Options) -> io::Result<()> {
    let hangup = if options.fixed {
        Hangup::Wake
    } else {
        Hangup::CloseOnly
    };
    let runtime = Builder::new().workers(2).hangup(hangup).build()?;
    let ground_truth = Arc::new(GroundTruth::default());
    let address = start_server(&runtime, Arc::clone(&ground_truth))?;
    let stuck = print_address(address, &ground_truth, options.after_burst)?;
    std::mem::forget(runtime); // stopping would cancel the coroutines of interest

    let sessions = ground_truth.spawned.load(Ordering::Relaxed);
    let answered = ground_truth.answered.load(Ordering::Relaxed);
    println!("answered {answered} exchanges in {sessions} sessions");
    println!("ground truth: {} readers never resumed", stuck.len());
    let Some(file) = options.truth else {
        return Ok(());
    };
    let mut lines: String = stuck.iter().map(|fd| format!("stuck {fd}\n")).collect();
    lines += &format!("healthy {HEALTHY}\nsessions {sessions}\nanswered {answered}\n");
    std::fs::write(file, lines)
}

/// What the arguments ask for; `None` if they are not understood.
fn options() -> Option<Options> {
    let mut options = Options {
        fixed: false,
        truth: None,
        after_burst: AFTER_BURST,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--fixed" => options.fixed = true,
            "--truth" => options.truth = Some(args.next()?),
            "--after" => options.after_burst = Duration::from_secs(args.next()?.parse().ok()?),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    ctp::attach();
    let Some(options) = options() else {
        eprintln!("usage: lost_wakeup [--fixed] [--truth FILE] [--after SECONDS]");
        return ExitCode::from(2);
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lost_wakeup: {error}");
            ExitCode::FAILURE
        }
    }
}
