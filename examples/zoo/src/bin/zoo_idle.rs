//! No client connects to a listener, and no shutdown is requested: both tasks wait to the end, as
//! they should.

use std::io;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Signal};
use mini_rt::{Runtime, TcpListener, sleep, spawn_named};

async fn listen(listener: TcpListener, truth: GroundTruth) {
    let _waiting = truth.enter("listener", line!() + 1);
    let _ = listener.accept().await;
}

async fn stop(signal: Signal, truth: GroundTruth) {
    let _waiting = truth.enter("stopper", line!() + 1);
    signal.raised().await;
}

fn main() -> io::Result<()> {
    ctp_nostd::attach();
    let (runtime, truth) = (Runtime::new(2)?, GroundTruth::new());
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        spawn_named("listener", listen(listener, truth.clone()));
        spawn_named("stopper", stop(Signal::new(), truth.clone()));
        sleep(Duration::from_millis(2500)).await;
        io::Result::Ok(())
    })?;
    truth.record(|_| false);
    std::mem::forget(runtime);
    Ok(())
}
