//! Many clients connect to a server, then none for long. Its accept loop waits, as it should.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread::{self, sleep};
use std::time::Duration;

use ctp_zoo::GroundTruth;
use mini_rt::{Runtime, TcpListener, spawn_named};

async fn listen(listener: TcpListener, truth: GroundTruth) {
    loop {
        let waiting = truth.enter("listener", line!() + 1);
        let accepted = listener.accept().await;
        drop(waiting);
        if let Ok((conn, _)) = accepted {
            spawn_named("session", async move { drop(conn) });
        }
    }
}

fn visit(address: SocketAddr) -> io::Result<()> {
    for _ in 0..40 {
        drop(TcpStream::connect(address)?);
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, truth) = (Runtime::new(2)?, GroundTruth::new());
    let address = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr();
        spawn_named("listener", listen(listener, truth.clone()));
        io::Result::Ok(address)
    })?;
    thread::spawn(move || visit(address))
        .join()
        .expect("visits end")?;
    sleep(Duration::from_millis(2500));
    truth.record(|_| false);
    std::mem::forget(runtime);
    Ok(())
}
