//! Three services on tokio answer questions, and each asks the next for a part of its answer. A question
//! of a new kind comes back to the first service, which cannot answer while it waits itself. Clients wait
//! behind the services, and a supervisor joins the clients. With `answered`, no question comes back, and the clients end.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

const SERVICES: [&str; 3] = ["users", "orders", "billing"];

/// Questions of each client.
const QUESTIONS: usize = 60;

struct Question {
    /// How many services are asked in turn to answer this.
    hops: usize,
    reply: oneshot::Sender<()>,
}

async fn ask(name: &str, service: &mpsc::Sender<Question>, hops: usize, truth: &GroundTruth) {
    let (reply, answer) = oneshot::channel();
    let _ = service.send(Question { hops, reply }).await;
    let _waiting = truth.enter(name, line!() + 1);
    let _ = answer.await;
}

async fn serve(
    name: &str,
    mut questions: mpsc::Receiver<Question>,
    next: mpsc::Sender<Question>,
    truth: GroundTruth,
) {
    while let Some(Question { hops, reply }) = questions.recv().await {
        sleep(Duration::from_millis(1)).await;
        if 0 < hops {
            ask(name, &next, hops - 1, &truth).await;
        }
        let _ = reply.send(());
    }
}

async fn run_client(
    name: String,
    service: mpsc::Sender<Question>,
    new_kind: Option<usize>,
    truth: GroundTruth,
) {
    for number in 0..QUESTIONS {
        let hops = if new_kind == Some(number) {
            3
        } else {
            number % 3
        };
        ask(&name, &service, hops, &truth).await;
        sleep(Duration::from_millis(2)).await;
    }
}

/// Waits for the end of all clients.
async fn supervise(service: mpsc::Sender<Question>, new_kind: bool, truth: GroundTruth) {
    let clients = (0..4).map(|number| {
        let name = format!("client-{number}");
        let new_kind = (new_kind && number == 2).then_some(50);
        let client = run_client(name.clone(), service.clone(), new_kind, truth.clone());
        tokio::spawn(client.traced_as(&name))
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        let _waiting = truth.enter("supervisor", line!() + 1);
        let _ = client.await;
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let new_kind = std::env::args().all(|argument| argument != "answered");
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let accept = async move { while listener.accept().await.is_ok() {} };
    runtime.spawn(accept.traced_as("accept"));
    let (senders, receivers): (Vec<_>, Vec<_>) = SERVICES.iter().map(|_| mpsc::channel(8)).unzip();
    for (number, questions) in receivers.into_iter().enumerate() {
        let next = senders[(number + 1) % SERVICES.len()].clone();
        let service = serve(SERVICES[number], questions, next, truth.clone());
        runtime.spawn(service.traced_as(SERVICES[number]));
    }
    let supervisor = supervise(senders[0].clone(), new_kind, truth.clone());
    runtime.spawn(supervisor.traced_as("supervisor"));
    truth.let_wait(Duration::from_secs(5));
    truth.record_with_victims(|name| name != "supervisor", |name| name == "supervisor");
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
