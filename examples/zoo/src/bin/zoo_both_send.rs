//! Pairs of peers on tokio exchange batches over connections that hold less than a batch. One of each pair
//! sends first, and the other reads first. Three pairs once both send first: each peer waits for room, and
//! neither reads. A fourth pair goes on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::sleep;

/// The bytes of a batch.
const BATCH: usize = 1 << 20;

/// The bytes that a socket holds, about.
const BUFFER: u32 = 32 << 10;

/// Batches before both peers of a pair send first.
const ROUNDS: u32 = 30;

struct Peer {
    name: String,
    connection: TcpStream,
    batch: Vec<u8>,
    truth: GroundTruth,
}

impl Peer {
    async fn send(&mut self) -> io::Result<()> {
        let _waiting = self.truth.enter(&self.name, line!() + 1);
        self.connection.write_all(&self.batch).await
    }

    async fn receive(&mut self) -> io::Result<()> {
        self.connection.read_exact(&mut self.batch).await?;
        Ok(())
    }

    async fn exchange(
        mut self,
        is_first: bool,
        obeys: bool,
        done: Arc<AtomicU32>,
    ) -> io::Result<()> {
        for round in 0.. {
            done.fetch_add(u32::from(round == ROUNDS), Relaxed);
            if is_first || !obeys && round == ROUNDS {
                self.send().await?;
                self.receive().await?;
            } else {
                self.receive().await?;
                self.send().await?;
            }
            sleep(Duration::from_millis(3)).await;
        }
        Ok(())
    }
}

fn socket() -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_send_buffer_size(BUFFER)?;
    socket.set_recv_buffer_size(BUFFER)?;
    Ok(socket)
}

fn listen() -> io::Result<TcpListener> {
    let socket = socket()?;
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    socket.listen(8)
}

async fn connect() -> io::Result<(TcpStream, TcpStream)> {
    let listener = listen()?;
    let caller = socket()?.connect(listener.local_addr()?);
    let (caller, accepted) = tokio::join!(caller, listener.accept());
    Ok((caller?, accepted?.0))
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let (truth, done) = (GroundTruth::new(), Arc::new(AtomicU32::new(0)));
    let runtime = two_workers()?;
    for pair in 0..4 {
        let (left, right) = runtime.block_on(connect())?;
        for (side, connection) in [("left", left), ("right", right)] {
            let name = format!("{side}-{pair}");
            let (batch, truth) = (vec![7; BATCH], truth.clone());
            let peer = Peer {
                name: name.clone(),
                connection,
                batch,
                truth,
            };
            let peer = peer.exchange(side == "left", pair == 3, done.clone());
            runtime.spawn(peer.traced_as(&name));
        }
    }
    while done.load(Relaxed) < 8 {
        std::thread::sleep(Duration::from_millis(10));
    }
    truth.let_wait(Duration::from_secs(4));
    truth.record(|name| !name.ends_with('3'));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
