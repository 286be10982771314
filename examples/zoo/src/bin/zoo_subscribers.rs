//! Guests on tokio: most ask something and leave, and some stay, to be told of what nobody tells.

use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{Ledger, told, two_workers};
use tokio::sync::Notify;

static NEWS: Notify = Notify::const_new();

async fn guest(number: u32, ledger: Ledger) {
    tokio::time::sleep(Duration::from_millis(1)).await;
    if number.is_multiple_of(5) {
        let _waiting = ledger.enter(&format!("guest-{number}"), line!() + 1);
        told(NEWS.notified(), ctp::Wait::user(1)).await;
    }
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let (runtime, ledger) = (two_workers()?, Ledger::new());
    for number in 0..100 {
        let guest = guest(number, ledger.clone());
        runtime.spawn(guest.traced_as(&format!("guest-{number}")));
        sleep(Duration::from_millis(2));
    }
    sleep(Duration::from_millis(2500));
    ledger.tell(|_| false);
    // As it stands: nobody is cancelled.
    std::process::exit(0)
}
