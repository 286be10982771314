//! Handlers of a service on tokio ask a store and wait for its reply, until there are no more requests.
//! The store has lost three replies of the last round: these handlers hang, although nothing else
//! happens any more. The others and the store wait for work, as they should.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{mpsc, oneshot};

/// A question, and where the reply goes.
type Question = (u64, oneshot::Sender<u64>);

const ROUNDS: u64 = 300;

async fn store(mut questions: mpsc::Receiver<Question>, truth: GroundTruth) {
    let mut lost = Vec::new();
    loop {
        let waiting = truth.enter("store", line!() + 1);
        let question = questions.recv().await;
        drop(waiting);
        let Some((number, reply)) = question else {
            return;
        };
        if number == ROUNDS && lost.len() < 3 {
            lost.push(reply);
        } else {
            let _ = reply.send(number);
        }
    }
}

async fn handle(
    name: String,
    mut requests: mpsc::Receiver<u64>,
    to_store: mpsc::Sender<Question>,
    truth: GroundTruth,
) {
    loop {
        let waiting = truth.enter(&format!("{name}-idle"), line!() + 1);
        let request = requests.recv().await;
        drop(waiting);
        let Some(request) = request else { return };
        let (reply, replied) = oneshot::channel();
        if to_store.send((request, reply)).await.is_err() {
            return;
        }
        let _waiting = truth.enter(&name, line!() + 1);
        let _ = replied.await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (to_store, questions) = mpsc::channel(4);
    runtime.spawn(store(questions, truth.clone()).traced_as("store"));
    let mut clients = Vec::new();
    for number in 0..6 {
        let (client, requests) = mpsc::channel(4);
        let name = format!("handler-{number}");
        let handler = handle(name.clone(), requests, to_store.clone(), truth.clone());
        runtime.spawn(handler.traced_as(&name));
        clients.push(client);
    }
    for round in 1..=ROUNDS {
        for client in &clients {
            let _ = client.blocking_send(round);
        }
        sleep(Duration::from_millis(5));
    }
    truth.let_wait(Duration::from_millis(3500));
    truth.record(|name| name.starts_with("handler") && !name.ends_with("idle"));
    // Exits without cancelling tasks.
    std::process::exit(0)
}
