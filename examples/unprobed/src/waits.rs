//! Tasks with waits that a report must not call stuck: each awaited object still exists, and no task holds it. For all that
//! a tool can know, another thread may end the waits.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify, Semaphore, mpsc, oneshot};

use crate::registry::{register, spawn, spawn_bare};

const HOUR: Duration = Duration::from_secs(3600);

/// Starts `count` tasks of each kind, and a blocking task.
pub fn start(count: usize) {
    for _ in 0..count {
        spawn("sleep", sleep());
        start_channels();
        start_locks();
        start_sockets();
        spawn("join", async {
            let inner = spawn_bare(async {
                let _registration = register("joined").await;
                sleep().await;
            });
            let _ = inner.await;
        });
        let handle = spawn("abortable", sleep());
        Box::leak(Box::new(handle));
    }
    tokio::task::spawn_blocking(|| std::thread::sleep(HOUR));
}

/// Starts `count` tasks that wait for the same `Notify`.
pub fn start_many(count: usize) {
    let notify = Arc::new(Notify::new());
    for _ in 0..count {
        let notify = notify.clone();
        spawn("notified", async move { notify.notified().await });
    }
    Box::leak(Box::new(notify));
}

async fn sleep() {
    tokio::time::sleep(HOUR).await;
}

fn start_channels() {
    let (sender, mut receiver) = mpsc::channel::<u32>(1);
    spawn("mpsc", async move { receiver.recv().await });
    Box::leak(Box::new(sender));
    let (sender, receiver) = oneshot::channel::<u32>();
    spawn("oneshot", receiver);
    Box::leak(Box::new(sender));
    let notify: &Notify = Box::leak(Box::new(Notify::new()));
    spawn("notified", notify.notified());
}

/// The guard is forgotten, so no task holds the lock, as if a thread outside of tokio did.
fn start_locks() {
    let mutex: &Mutex<u32> = Box::leak(Box::new(Mutex::new(0)));
    let guard = mutex.try_lock().expect("a new mutex is free");
    std::mem::forget(guard);
    spawn("mutex", async move {
        let _guard = mutex.lock().await;
    });
    let semaphore: &Semaphore = Box::leak(Box::new(Semaphore::new(0)));
    spawn("semaphore", async move {
        let _permit = semaphore.acquire().await;
    });
}

fn start_sockets() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // Connected before the tasks start, so that nothing wakes them any more.
    let stream = std::net::TcpStream::connect(address).expect("a connection");
    let peer = listener.accept().expect("a connection");
    std::mem::forget(peer);
    listener.set_nonblocking(true).expect("a socket");
    let listener = TcpListener::from_std(listener).expect("a listener");
    spawn("accept", async move {
        let _ = listener.accept().await;
    });
    stream.set_nonblocking(true).expect("a socket");
    let mut stream = TcpStream::from_std(stream).expect("a stream");
    spawn("read", async move {
        let _ = stream.read(&mut [0; 4]).await;
    });
}
