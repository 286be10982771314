//! Two tasks read from one pipe, for which there is place for one to wait: the second takes the
//! place of the first. Bytes come all the time, and the first is never woken.

use std::io;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{Hangup, Ledger, Order, Pipe, Pipes, Toy};

async fn read_all(pipe: Arc<Pipe>, name: &'static str, ledger: Ledger) {
    loop {
        let _waiting = ledger.enter(name, line!() + 1);
        pipe.read(Hangup::Wake).await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (toy, pipes, ledger) = (Toy::new(Order::FirstCome, 2), Pipes::new(), Ledger::new());
    let (pipe, writer) = pipes.pipe()?;
    for name in ["first", "second"] {
        toy.spawn(name, read_all(Arc::clone(&pipe), name, ledger.clone()));
        sleep(Duration::from_millis(50));
    }
    for _ in 0..500 {
        rustix::io::write(&writer, b"frame")?;
        sleep(Duration::from_millis(5));
    }
    ledger.tell(|name| name == "first");
    Ok(())
}
