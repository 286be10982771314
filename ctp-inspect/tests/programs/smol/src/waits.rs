//! Tasks on the global executor that wait in different ways.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use smol::channel::{Receiver, Sender, bounded};
use smol::io::AsyncReadExt;
use smol::lock::{Mutex, RwLock, Semaphore};
use smol::net::{TcpListener, TcpStream};
use smol::{Timer, future};

use crate::{Spawned, announce, awaits_at, count_spawned};

const LONG: Duration = Duration::from_secs(3600);

/// What must live as long as the tasks.
pub type Others = (Vec<Sender<u8>>, Receiver<u8>, TcpStream);

/// Spawns tasks of all kinds.
pub fn spawn_all(count: usize, spawned: &mut Spawned) -> Others {
    let (sender, receiver) = bounded(1);
    let (full_sender, full) = bounded(1);
    let _ = full_sender.try_send(0);
    let lock = Arc::new(Mutex::new(0));
    let table = Arc::new(RwLock::new(0));
    let permits = Arc::new(Semaphore::new(0));
    spawned.spawn(holding(lock.clone(), table.clone(), receiver.clone()));
    for _ in 0..count {
        spawned.spawn(outer(receiver.clone()));
        spawned.spawn(sending(full_sender.clone()));
        spawned.spawn(sleeping());
        spawned.spawn(locking(lock.clone()));
        spawned.spawn(reading_table(table.clone()));
        spawned.spawn(acquiring(permits.clone()));
        spawned.spawn(forgetting());
        spawned.spawn(forever());
        spawned.spawn(never_due());
        spawned.spawn(either(receiver.clone()));
        spawned.spawn(large(receiver.clone()));
        spawned.spawn(joining(receiver.clone()));
    }
    let (first, second) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    spawned.spawn(crossing(first.clone(), second.clone()));
    spawned.spawn(crossing(second, first));
    let peer = spawn_sockets(spawned);
    spawned.spawn(blocked());
    spawned.spawn(unblocking());
    (vec![sender, full_sender], full, peer)
}

async fn outer(receiver: Receiver<u8>) {
    awaits_at("outer", line!() + 1);
    receiving("receiving", receiver).await;
}

/// Waits for a message.
pub async fn receiving(kind: &'static str, receiver: Receiver<u8>) {
    announce(kind).await;
    awaits_at("receiving", line!() + 1);
    let _ = receiver.recv().await;
}

async fn sending(sender: Sender<u8>) {
    announce("sending").await;
    awaits_at("sending", line!() + 1);
    let _ = sender.send(1).await;
}

async fn sleeping() {
    announce("sleeping").await;
    awaits_at("sleeping", line!() + 1);
    Timer::after(LONG).await;
}

async fn holding(lock: Arc<Mutex<u8>>, table: Arc<RwLock<u8>>, receiver: Receiver<u8>) {
    let guard = lock.lock().await;
    let writing = table.write().await;
    announce("holding").await;
    awaits_at("holding", line!() + 1);
    let _ = receiver.recv().await;
    drop((guard, writing));
}

async fn locking(lock: Arc<Mutex<u8>>) {
    announce("locking").await;
    // The holder takes the lock first.
    Timer::after(Duration::from_millis(50)).await;
    awaits_at("locking", line!() + 1);
    let _guard = lock.lock().await;
}

/// Two such tasks with the same locks wait for each other.
async fn crossing(first: Arc<Mutex<u8>>, second: Arc<Mutex<u8>>) {
    let mut from = first.lock().await;
    announce("crossing").await;
    Timer::after(Duration::from_millis(50)).await;
    awaits_at("crossing", line!() + 1);
    let mut to = second.lock().await;
    *to += *from;
    *from = 0;
}

async fn reading_table(table: Arc<RwLock<u8>>) {
    announce("reading_table").await;
    Timer::after(Duration::from_millis(50)).await;
    awaits_at("reading_table", line!() + 1);
    let _guard = table.read().await;
}

async fn acquiring(permits: Arc<Semaphore>) {
    announce("acquiring").await;
    awaits_at("acquiring", line!() + 1);
    let _permit = permits.acquire().await;
}

/// Returns `Pending`, and loses its waker.
pub struct Forgetful;

impl Future for Forgetful {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

async fn forgetting() {
    announce("forgetting").await;
    awaits_at("forgetting", line!() + 1);
    Forgetful.await
}

async fn forever() {
    announce("forever").await;
    awaits_at("forever", line!() + 1);
    future::pending::<()>().await
}

async fn never_due() {
    announce("never_due").await;
    awaits_at("never_due", line!() + 1);
    Timer::never().await;
}

async fn either(receiver: Receiver<u8>) {
    announce("either").await;
    let timer = async {
        Timer::after(LONG).await;
    };
    let message = async {
        let _ = receiver.recv().await;
    };
    awaits_at("either", line!() + 1);
    future::or(message, timer).await
}

/// The executor keeps the future in a box, because the future is large.
async fn large(receiver: Receiver<u8>) {
    let bytes = [7_u8; 4096];
    announce("large").await;
    awaits_at("large", line!() + 1);
    let _ = receiver.recv().await;
    drop(std::hint::black_box(bytes));
}

async fn joining(receiver: Receiver<u8>) {
    announce("joining").await;
    count_spawned();
    let task = smol::spawn(receiving("joined", receiver));
    awaits_at("joining", line!() + 1);
    task.await
}

/// Blocks its thread.
async fn blocked() {
    announce("blocked").await;
    std::thread::sleep(LONG);
}

/// Blocks a thread of the pool that is meant for this. The closure is a task, too.
async fn unblocking() {
    announce("unblocking").await;
    awaits_at("unblocking", line!() + 1);
    smol::unblock(|| std::thread::sleep(LONG)).await;
}

async fn accepting(listener: TcpListener) {
    announce("accepting").await;
    awaits_at("accepting", line!() + 1);
    let _ = listener.accept().await;
}

async fn reading(mut stream: TcpStream) {
    announce("reading").await;
    let mut bytes = [0; 16];
    awaits_at("reading", line!() + 1);
    let _ = stream.read(&mut bytes).await;
}

/// Prints the descriptor of a socket.
fn descriptor(name: &str, socket: &impl std::os::fd::AsRawFd) {
    println!("line {name}.fd {}", socket.as_raw_fd());
}

fn spawn_sockets(spawned: &mut Spawned) -> TcpStream {
    let (listener, stream, peer) = smol::block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let peer = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        (listener, stream, peer)
    });
    descriptor("accepting", &listener);
    descriptor("reading", &stream);
    spawned.spawn(accepting(listener));
    spawned.spawn(reading(stream));
    peer
}
