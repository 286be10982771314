//! Two thousand requests on tokio, all with the same name, wait for a reply for some milliseconds. Ten
//! replies never come, because their senders are leaked.

use std::collections::VecDeque;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use ctp_zoo::{announced, two_workers};
use tokio::sync::oneshot;

/// The line that waits.
const WAITS: u32 = line!() + 3;

async fn request(reply: oneshot::Receiver<()>) {
    let _ = announced(reply, ctp::Wait::user(1)).await;
}

fn main() -> std::io::Result<()> {
    ctp::attach();
    let runtime = two_workers()?;
    let mut pending = VecDeque::new();
    for number in 0..2000 {
        let (reply, replied) = oneshot::channel();
        runtime.spawn(request(replied).traced_as("request"));
        if number < 500 && number % 50 == 7 {
            std::mem::forget(reply);
        } else {
            pending.push_back(reply);
        }
        if 4 < pending.len() {
            pending.pop_front().map(|reply| reply.send(()));
        }
        sleep(Duration::from_millis(1));
    }
    pending.into_iter().for_each(|reply| _ = reply.send(()));
    sleep(Duration::from_millis(3500));
    println!("stuck request {WAITS}");
    // Exits without cancelling tasks.
    std::process::exit(0)
}
