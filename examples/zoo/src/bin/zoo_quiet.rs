//! Connections on which nothing comes for long: their readers wait to the end, as they should, while
//! others are served.

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_once(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    let _waiting = truth.enter(&name, line!() + 1);
    pipe.read(Hangup::Wake).await;
}

async fn read_all(pipe: Arc<Pipe>) {
    while pipe.read(Hangup::Wake).await > 0 {}
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let connect = || -> io::Result<(TcpStream, Arc<Pipe>)> {
        let client = TcpStream::connect(listener.local_addr()?)?;
        Ok((client, pipes.connection(listener.accept()?.0)?))
    };
    let mut quiet = Vec::new();
    for i in 0..3 {
        let (client, pipe) = connect()?;
        let name = format!("quiet-{i}");
        toy.spawn(&name, read_once(pipe, name.clone(), truth.clone()));
        quiet.push(client);
    }
    let (mut busy, pipe) = connect()?;
    toy.spawn("busy", read_all(pipe));
    for _ in 0..400 {
        busy.write_all(b"frame")?;
        sleep(Duration::from_millis(10));
    }
    truth.record(|_| false);
    Ok(())
}
