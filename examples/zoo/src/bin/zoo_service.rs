//! A healthy service on tokio: guests with open connections that fall silent, an accept loop without
//! further callers, workers behind silent channels, an hour-long timer, and a task in `pending()`. A
//! task that ticks goes on.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

/// Requests of each guest, before it keeps its connection open in silence.
const REQUESTS: u32 = 60;

async fn echo(mut guest: TcpStream, name: String, truth: GroundTruth) {
    let mut byte = [0];
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let read = guest.read_exact(&mut byte).await;
        if read.is_err() || guest.write_all(&byte).await.is_err() {
            return;
        }
    }
}

async fn accept(listener: TcpListener, truth: GroundTruth) {
    for number in 0.. {
        let waiting = truth.enter("accept", line!() + 1);
        let accepted = listener.accept().await;
        drop(waiting);
        let Ok((guest, _)) = accepted else { return };
        let name = format!("echo-{number}");
        let echo = echo(guest, name.clone(), truth.clone());
        tokio::spawn(echo.traced_as(&name));
    }
}

/// Each guest calls a little later than the one before.
async fn call(server: SocketAddr, number: u64, truth: GroundTruth) -> io::Result<()> {
    sleep(Duration::from_millis(20 * number)).await;
    let mut connection = TcpStream::connect(server).await?;
    for _ in 0..REQUESTS {
        connection.write_all(&[1]).await?;
        connection.read_exact(&mut [0]).await?;
        sleep(Duration::from_millis(4)).await;
    }
    let _waiting = truth.enter(&format!("guest-{number}"), line!() + 1);
    connection.read_exact(&mut [0]).await?;
    Ok(())
}

async fn store(mut orders: mpsc::Receiver<u32>, stored: watch::Sender<u32>, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("store", line!() + 1);
        match orders.recv().await {
            Some(order) => _ = stored.send_replace(order),
            None => return,
        }
    }
}

async fn display(mut stored: watch::Receiver<u32>, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter("display", line!() + 1);
        if stored.changed().await.is_err() {
            return;
        }
    }
}

/// Orders for a while, and keeps the channel open after that.
async fn order(orders: mpsc::Sender<u32>, truth: GroundTruth) {
    for number in 0..100 {
        if orders.send(number).await.is_err() {
            return;
        }
        sleep(Duration::from_millis(4)).await;
    }
    let _waiting = truth.enter("order", line!() + 1);
    pending().await
}

async fn renew(truth: GroundTruth) {
    for _ in 0..20 {
        sleep(Duration::from_millis(5)).await;
    }
    let _waiting = truth.enter("renew", line!() + 1);
    sleep(Duration::from_secs(3600)).await;
}

async fn tick() {
    loop {
        sleep(Duration::from_millis(20)).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let server = listener.local_addr()?;
    let (to_store, orders) = mpsc::channel(4);
    let (stored, changes) = watch::channel(0);
    runtime.spawn(accept(listener, truth.clone()).traced_as("accept"));
    for number in 0..10 {
        let guest = call(server, number, truth.clone());
        runtime.spawn(guest.traced_as(&format!("guest-{number}")));
    }
    runtime.spawn(store(orders, stored, truth.clone()).traced_as("store"));
    runtime.spawn(display(changes, truth.clone()).traced_as("display"));
    runtime.spawn(order(to_store, truth.clone()).traced_as("order"));
    runtime.spawn(renew(truth.clone()).traced_as("renew"));
    runtime.spawn(tick().traced_as("tick"));
    thread::sleep(Duration::from_secs(5));
    truth.record(|_| false);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
