//! A server on smol. Fewer and fewer clients connect, and finally none; the work runs out, and
//! workers wait; timers are first short, then an hour; tasks are dropped, some before they ran.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{GroundTruth, announced};
use smol::channel::Receiver;
use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};
use smol::{Async, Executor, Timer};

const HOUR: Duration = Duration::from_secs(3600);
const WORK: usize = 300;

type Runtime = &'static Executor<'static>;

async fn listen(runtime: Runtime, listener: Async<TcpListener>, truth: GroundTruth) {
    let number = listener.as_raw_fd();
    loop {
        let waiting = truth.enter("listener", line!() + 1);
        let accepted = announced(listener.accept(), ctp::Wait::readable(number).idle()).await;
        drop(waiting);
        if let Ok((connection, _)) = accepted {
            runtime
                .spawn(echo(connection).traced_as("session"))
                .detach();
        }
    }
}

async fn echo(mut connection: Async<TcpStream>) {
    let number = connection.as_raw_fd();
    let mut bytes = [0; 64];
    loop {
        let read = connection.read(&mut bytes);
        match announced(read, ctp::Wait::readable(number)).await {
            Ok(count @ 1..) => drop(connection.write_all(&bytes[..count]).await),
            _ => return,
        }
    }
}

async fn rest(name: String, truth: GroundTruth) {
    for time in [Duration::from_millis(5); 20].into_iter().chain([HOUR]) {
        let _waiting = truth.enter(&name, line!() + 1);
        announced(Timer::after(time), ctp::Wait::timer_in(time)).await;
    }
}

async fn work(queue: Receiver<usize>, name: String, truth: GroundTruth) {
    let wait = ctp::Wait::channel(std::ptr::from_ref(&queue).addr()).idle();
    loop {
        let waiting = truth.enter(&name, line!() - 2);
        let piece = announced(queue.recv(), wait).await;
        drop(waiting);
        match piece {
            Ok(piece) => drop(Timer::after(Duration::from_micros(piece as u64)).await),
            Err(_) => return,
        }
    }
}

/// Each comes a little later than the previous.
fn visit(address: SocketAddr) -> io::Result<()> {
    use io::{Read as _, Write as _};
    for visit in 0..40 {
        let mut stream = TcpStream::connect(address)?;
        for _ in 0..3 {
            stream.write_all(b"frame")?;
            stream.read_exact(&mut [0; 5])?;
        }
        sleep(Duration::from_millis(2 * visit));
    }
    Ok(())
}

/// Tasks that are dropped while they wait, and some that were never polled.
fn cancel(runtime: Runtime, truth: &GroundTruth) {
    let (_sender, queue) = smol::channel::unbounded();
    let start = |kind: &str, i| {
        let name = format!("{kind}-{i}");
        match i % 2 {
            0 => runtime.spawn(work(queue.clone(), name.clone(), truth.clone()).traced_as(&name)),
            _ => runtime.spawn(rest(name.clone(), truth.clone()).traced_as(&name)),
        }
    };
    let waiting: Vec<_> = (0..20).map(|i| start("cancelled", i)).collect();
    sleep(Duration::from_millis(400));
    drop(waiting);
    (0..20).for_each(|i| drop(start("unwanted", i)));
}

fn main() -> io::Result<()> {
    ctp::attach();
    let (runtime, truth): (Runtime, _) = (Box::leak(Box::default()), GroundTruth::new());
    for _ in 0..2 {
        thread::spawn(|| smol::block_on(runtime.run(pending::<()>())));
    }
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
    let address = listener.get_ref().local_addr()?;
    let listening = listen(runtime, listener, truth.clone());
    runtime.spawn(listening.traced_as("listener")).detach();
    let (pieces, queue) = smol::channel::bounded(4);
    for i in 0..4 {
        let name = format!("worker-{i}");
        let worker = work(queue.clone(), name.clone(), truth.clone());
        runtime.spawn(worker.traced_as(&name)).detach();
        let name = format!("sleeper-{i}");
        let sleeper = rest(name.clone(), truth.clone());
        runtime.spawn(sleeper.traced_as(&name)).detach();
    }
    let visits = thread::spawn(move || visit(address));
    for piece in 0..WORK {
        let _ = pieces.send_blocking(piece);
    }
    cancel(runtime, &truth);
    visits.join().expect("visits end")?;
    sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    // Exits without cancelling tasks.
    std::process::exit(0)
}
