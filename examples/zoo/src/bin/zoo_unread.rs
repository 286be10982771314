//! Six tasks read from connections. The reactor forgets three of them: bytes, or a hangup of the
//! other end, are ready to be read, and no task is woken. The connections are TCP, or pairs of
//! local sockets with `local` on the command line.

use std::fs::File;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Hangup, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if pipe.read(Hangup::Wake).await == 0 {
            return;
        }
    }
}

/// Both ends.
fn connect(listener: Option<&TcpListener>) -> io::Result<(File, OwnedFd)> {
    let (client, server) = match listener {
        None => {
            let (client, server) = UnixStream::pair()?;
            (OwnedFd::from(client), OwnedFd::from(server))
        }
        Some(listener) => {
            let client = TcpStream::connect(listener.local_addr()?)?;
            (client.into(), listener.accept()?.0.into())
        }
    };
    Ok((client.into(), server))
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let is_local = std::env::args().nth(1).is_some_and(|text| text == "local");
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let listener = Some(&listener).filter(|_| !is_local);
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    for i in 0..6 {
        let (client, server) = connect(listener)?;
        let pipe = pipes.connection(server)?;
        let name = format!("{}-{i}", if i < 3 { "kept" } else { "lost" });
        let reader = Arc::clone(&pipe);
        toy.spawn(&name, read_all(reader, name.clone(), truth.clone()));
        match i {
            0..3 => kept.push(client),
            _ => lost.push((client, pipe)),
        }
    }
    sleep(Duration::from_millis(100)); // so that all of them wait
    lost.iter().for_each(|(_, pipe)| pipes.lose(pipe));
    for (client, _) in &mut lost {
        client.write_all(b"frame")?;
    }
    lost.truncate(2);
    for _ in 0..500 {
        for client in &mut kept {
            client.write_all(b"frame")?;
        }
        sleep(Duration::from_millis(10));
    }
    truth.record(|name| name.starts_with("lost"));
    Ok(())
}
