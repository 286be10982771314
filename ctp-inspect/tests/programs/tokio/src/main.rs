//! Tasks that await in all the ways that `ctp-inspect` knows. The program prints the address of each task's
//! header, and the lines at which functions await; then it waits to be killed.

mod branches;
mod guards;
mod permits;
mod streams;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, broadcast, mpsc, oneshot, watch};

const LONG: Duration = Duration::from_secs(3600);

/// Says that a function awaits at this line.
fn awaits_at(function: &str, line: u32) {
    println!("line {function} {line}");
}

/// Says that a variable is declared at this line.
fn declared_at(variable: &str, line: u32) {
    println!("line {variable} {line}");
}

/// Spawns a task that prints the address of its header.
fn spawn<F: Future<Output: Send> + Send + 'static>(
    name: &'static str,
    future: F,
) -> tokio::task::JoinHandle<F::Output> {
    tokio::spawn(async move {
        let mut announcement = std::pin::pin!(std::future::poll_fn(|context| {
            println!("task {name} {}", context.waker().data() as usize);
            Poll::Ready(())
        }));
        announcement.as_mut().await;
        future.await
    })
}

/// A connection of a server, as libraries have it.
struct Connection<F> {
    dispatcher: Dispatcher<F>,
}

struct Dispatcher<F> {
    in_flight: Pin<Box<Option<F>>>,
}

impl<F: Future> Future for Connection<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.dispatcher.in_flight.as_mut().as_pin_mut() {
            Some(request) => request.poll(context).map(Some),
            None => Poll::Ready(None),
        }
    }
}

async fn leaf(receiver: oneshot::Receiver<u32>) -> usize {
    let held = String::from("held");
    awaits_at("leaf", line!() + 1);
    let received = receiver.await;
    received.map_or(0, |_| held.len())
}

async fn middle(receiver: oneshot::Receiver<u32>) -> usize {
    awaits_at("middle", line!() + 1);
    let length = leaf(receiver).await;
    length + 1
}

fn boxed(
    levels: u32,
    receiver: oneshot::Receiver<u32>,
) -> Pin<Box<dyn Future<Output = usize> + Send>> {
    Box::pin(async move {
        if levels == 0 {
            awaits_at("boxed.leaf", line!() + 1);
            leaf(receiver).await
        } else {
            awaits_at("boxed", line!() + 1);
            boxed(levels - 1, receiver).await
        }
    })
}

async fn transfer(first: Arc<Mutex<u32>>, second: Arc<Mutex<u32>>) {
    declared_at("from", line!() + 1);
    let mut from = first.lock().await;
    *from += 1;
    tokio::time::sleep(Duration::from_millis(50)).await;
    awaits_at("transfer", line!() + 1);
    let mut to = second.lock().await;
    *to += *from;
}

async fn reading(mut stream: TcpStream) {
    let mut bytes = [0; 16];
    awaits_at("reading", line!() + 1);
    let _ = stream.read(&mut bytes).await;
}

async fn reading_buffered(stream: TcpStream) {
    let (reader, _writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let mut bytes = [0; 16];
    awaits_at("reading_buffered", line!() + 1);
    let _ = reader.read_exact(&mut bytes).await;
}

async fn writing(mut stream: TcpStream) {
    let bytes = vec![0; 64 << 20];
    awaits_at("writing", line!() + 1);
    let _ = stream.write_all(&bytes).await;
}

async fn accepting(listener: TcpListener) {
    awaits_at("accepting", line!() + 1);
    let _ = listener.accept().await;
}

async fn limited(receiver: oneshot::Receiver<u32>) {
    awaits_at("limited", line!() + 1);
    let _ = tokio::time::timeout(LONG, leaf(receiver)).await;
}

async fn sending(sender: mpsc::Sender<u8>) {
    let _ = sender.send(1).await;
    awaits_at("sending", line!() + 1);
    let _ = sender.send(2).await;
}

async fn listening(mut receiver: broadcast::Receiver<u8>) {
    awaits_at("listening", line!() + 1);
    let _ = receiver.recv().await;
}

async fn ticking() {
    let mut interval = tokio::time::interval(LONG);
    interval.tick().await;
    awaits_at("ticking", line!() + 1);
    interval.tick().await;
}

async fn watching(mut receiver: watch::Receiver<u8>) {
    awaits_at("watching", line!() + 1);
    let _ = receiver.changed().await;
}

async fn forgetting() {
    awaits_at("forgetting", line!() + 1);
    std::future::poll_fn(|_| Poll::<()>::Pending).await;
}

async fn forever() {
    awaits_at("forever", line!() + 1);
    std::future::pending::<()>().await;
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (sender, receiver) = oneshot::channel();
    spawn("middle", middle(receiver));
    let (boxed_sender, receiver) = oneshot::channel();
    spawn("boxed", boxed(2, receiver));
    let (limited_sender, receiver) = oneshot::channel();
    spawn("limited", limited(receiver));
    let (first, second) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
    spawn("transfer", transfer(first.clone(), second.clone()));
    spawn("transfer.back", transfer(second, first));
    guards::spawn_all();
    let branches = branches::spawn_all().await;
    let (full_sender, full) = mpsc::channel(1);
    spawn("sending", sending(full_sender));
    let (broadcast_sender, broadcast) = broadcast::channel(1);
    spawn("listening", listening(broadcast));
    let streams = (sockets().await, streams::spawn_all().await);
    spawn("forgetting", forgetting());
    spawn("ticking", ticking());
    let (watch_sender, watch) = watch::channel(0);
    spawn("watching", watching(watch));
    let (request_sender, request) = oneshot::channel();
    let in_flight = Box::pin(Some(middle(request)));
    spawn("serving", Connection { dispatcher: Dispatcher { in_flight } });
    permits::spawn_all();
    let last = spawn("forever", forever());
    spawn("joined", async move {
        awaits_at("joined", line!() + 1);
        last.await
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    println!("ready");
    std::future::pending::<()>().await;
    drop((
        sender,
        boxed_sender,
        limited_sender,
        branches,
        full,
        broadcast_sender,
        watch_sender,
        request_sender,
        streams,
    ));
}

/// Prints the descriptor of a socket.
fn descriptor(name: &str, socket: &impl std::os::fd::AsRawFd) {
    println!("line {name}.fd {}", socket.as_raw_fd());
}

async fn sockets() -> Vec<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut peers = Vec::new();
    for name in ["reading", "reading_buffered", "writing"] {
        let peer = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        descriptor(name, &stream);
        match name {
            "reading" => drop(spawn(name, reading(stream))),
            "writing" => drop(spawn(name, writing(stream))),
            _ => drop(spawn(name, reading_buffered(stream))),
        }
        peers.push(peer);
    }
    descriptor("accepting", &listener);
    spawn("accepting", accepting(listener));
    peers
}
