//! Sessions on tokio read frames from their clients in a `select!` beside a tick, which drops the future
//! that reads. The branches are polled in random order, for which the compiler duplicates their code.
//!
//! The frames of two clients arrive in halves: a tick in between loses the first half. The session then
//! takes the second half for the header of a long frame, and the client waits for its answer. With
//! `whole`, all frames arrive whole.

use std::io;
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

async fn read_frame(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await?;
    let mut frame = vec![0; length as usize];
    stream.read_exact(&mut frame).await?;
    Ok(frame)
}

async fn serve(mut stream: TcpStream, name: String, truth: GroundTruth) -> io::Result<()> {
    let mut tick = interval(Duration::from_millis(20));
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        let is_frame = tokio::select! {
            frame = read_frame(&mut stream) => frame.map(|_| true)?,
            _ = tick.tick() => false,
        };
        if is_frame {
            stream.write_u8(1).await?;
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

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let in_halves = std::env::args().all(|argument| argument != "whole");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    for number in 0..4 {
        let client = runtime.block_on(TcpStream::connect(address))?;
        let (stream, _) = runtime.block_on(listener.accept())?;
        let name = format!("session-{number}");
        let session = serve(stream, name.clone(), truth.clone());
        runtime.spawn(session.traced_as(&name));
        let name = format!("client-{number}");
        let client = ask(client, in_halves && number < 2, name.clone(), truth.clone());
        runtime.spawn(client.traced_as(&name));
    }
    std::thread::sleep(Duration::from_secs(5));
    // The clients of the two sessions hang too, but a read without an answer proves nothing.
    let broken = ["session-0", "session-1"];
    truth.record(|name| in_halves && broken.contains(&name));
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
