//! Nobody connects to a listener, and nobody asks the program to stop: both wait to the end, as
//! they should.

use std::io;
use std::time::Duration;

use ctp_zoo::{Ledger, Signal};
use mini_rt::{Runtime, TcpListener, sleep, spawn_named};

async fn listen(listener: TcpListener, ledger: Ledger) {
    let _waiting = ledger.enter("listener", line!() + 1);
    let _ = listener.accept().await;
}

async fn stop(signal: Signal, ledger: Ledger) {
    let _waiting = ledger.enter("stopper", line!() + 1);
    signal.raised().await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, ledger) = (Runtime::new(2)?, Ledger::new());
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        spawn_named("listener", listen(listener, ledger.clone()));
        spawn_named("stopper", stop(Signal::new(), ledger.clone()));
        sleep(Duration::from_millis(2500)).await;
        io::Result::Ok(())
    })?;
    ledger.tell(|_| false);
    std::mem::forget(runtime);
    Ok(())
}
