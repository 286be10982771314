//! Six connections that are read at the same line. Three have constant traffic, and the others have
//! none for long: their readers wait to the end, as they should.

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
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

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, truth) = (
        Toy::new(Order::FirstCome, 2),
        Pipes::new(),
        GroundTruth::new(),
    );
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (mut chatty, mut idle) = (Vec::new(), Vec::new());
    for i in 0..6 {
        let client = TcpStream::connect(listener.local_addr()?)?;
        let pipe = pipes.connection(listener.accept()?.0)?;
        let name = format!("{}-{i}", if i < 3 { "chatty" } else { "idle" });
        toy.spawn(&name, read_all(pipe, name.clone(), truth.clone()));
        match i {
            0..3 => chatty.push(client),
            _ => idle.push(client),
        }
    }
    for client in &mut idle {
        client.write_all(b"frame")?;
    }
    for _ in 0..500 {
        for client in &mut chatty {
            client.write_all(b"frame")?;
        }
        sleep(Duration::from_millis(10));
    }
    truth.record(|_| false);
    Ok(())
}
