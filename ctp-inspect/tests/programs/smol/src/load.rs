//! A healthy program under load: clients and servers that never end, and tasks that end soon.

use std::sync::Arc;
use std::time::Duration;

use smol::Timer;
use smol::channel::{Receiver, Sender, bounded};
use smol::lock::Mutex;

use crate::{announce, count_spawned, finish};

const SERVERS: usize = 4;
const CLIENTS: usize = 16;

type Request = (u64, Sender<u64>);

/// Runs for ever.
pub fn run() {
    let (sender, receiver) = bounded(4);
    let total = Arc::new(Mutex::new(0));
    for _ in 0..SERVERS {
        count_spawned();
        smol::spawn(serve(receiver.clone(), total.clone())).detach();
    }
    for _ in 0..CLIENTS {
        count_spawned();
        smol::spawn(ask(sender.clone())).detach();
    }
    finish();
    loop {
        std::thread::park();
    }
}

async fn serve(requests: Receiver<Request>, total: Arc<Mutex<u64>>) {
    announce("server").await;
    while let Ok((number, reply)) = requests.recv().await {
        let mut total = total.lock().await;
        *total += number;
        if number % 7 == 0 {
            Timer::after(Duration::from_micros(200)).await;
        }
        drop(total);
        let _ = reply.send(number).await;
    }
}

async fn ask(requests: Sender<Request>) {
    announce("client").await;
    for number in 0.. {
        let (reply, answer) = bounded(1);
        let _ = requests.send((number, reply)).await;
        let _ = answer.recv().await;
        let pause = Duration::from_micros(number % 500);
        smol::spawn(async move { drop(Timer::after(pause).await) }).await;
        if number % 3 == 0 {
            smol::spawn(smol::future::yield_now()).detach();
        }
    }
}
