//! A task keeps the guard of a mutex of the standard library while it awaits a timer. Another task of
//! the same thread blocks that thread in `lock`, so that the timer is never noticed.

use std::rc::Rc;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::GroundTruth;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, yield_now};
use tokio::time::sleep;

type Session = Rc<Mutex<u64>>;

#[allow(clippy::await_holding_lock, reason = "the fault")]
async fn renew(session: Session, truth: GroundTruth) {
    let mut uses = session.lock().expect("no panic while locked");
    *uses += 1;
    let _waiting = truth.enter("renewer", line!() + 2);
    // Longer than the thread may be held up before the other task runs.
    sleep(Duration::from_secs(1)).await;
}

async fn touch(session: Session) {
    yield_now().await; // The other task is to be first.
    println!("busy toucher {}", rustix::thread::gettid().as_raw_nonzero());
    println!("at toucher {}", line!() + 1);
    *session.lock().expect("no panic while locked") += 1;
}

fn main() -> std::io::Result<()> {
    ctp_nostd::attach();
    let truth = GroundTruth::new();
    let (begins, begun) = channel();
    let account = truth.clone();
    thread::spawn(move || {
        begun.recv().expect("main sends");
        thread::sleep(Duration::from_secs(10));
        account.record(|_| false);
        std::process::exit(0); // The other thread is blocked for ever.
    });
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let tasks = LocalSet::new();
    let session = Session::default();
    tasks.spawn_local(touch(session.clone()).traced_as("toucher"));
    tasks.spawn_local(renew(session, truth).traced_as("renewer"));
    begins.send(()).expect("the thread receives");
    runtime.block_on(tasks);
    Ok(())
}
