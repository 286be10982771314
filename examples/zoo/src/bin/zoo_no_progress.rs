//! Two tasks on tokio pass a ball back and forth by two channels, and two others watch the game. The ball
//! is dropped after some rounds. Each of the four then waits for another, and nothing outside of the
//! program is awaited: it can never continue.

use std::io;
use std::time::Duration;

use ctp_nostd::TracedExt as _;
use ctp_zoo::{GroundTruth, two_workers};
use tokio::sync::{mpsc, watch};

const ROUNDS: u32 = 3000;

async fn play(
    name: &'static str,
    mut from: mpsc::Receiver<u32>,
    to: mpsc::Sender<u32>,
    score: watch::Sender<u32>,
    truth: GroundTruth,
) {
    loop {
        let waiting = truth.enter(name, line!() + 1);
        let ball = from.recv().await;
        drop(waiting);
        let Some(round) = ball else { return };
        score.send_replace(round);
        if round < ROUNDS && to.send(round + 1).await.is_err() {
            return;
        }
    }
}

async fn watch(name: String, mut score: watch::Receiver<u32>, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if score.changed().await.is_err() {
            return;
        }
    }
}

fn main() -> io::Result<()> {
    ctp_nostd::attach(); // before the runtime starts its threads
    let truth = GroundTruth::new();
    let runtime = two_workers()?;
    let (to_left, left) = mpsc::channel(1);
    let (to_right, right) = mpsc::channel(1);
    to_left.blocking_send(0).expect("the channel is empty");
    let (left_score, of_left) = watch::channel(0);
    let (right_score, of_right) = watch::channel(0);
    let player = play("left", left, to_right, left_score, truth.clone());
    runtime.spawn(player.traced_as("left"));
    let player = play("right", right, to_left, right_score, truth.clone());
    runtime.spawn(player.traced_as("right"));
    for (name, score) in [("watcher-left", of_left), ("watcher-right", of_right)] {
        let watcher = watch(name.to_owned(), score, truth.clone());
        runtime.spawn(watcher.traced_as(name));
    }
    std::thread::sleep(Duration::from_secs(5));
    truth.record(|_| true);
    // Stopping the runtime would cancel the coroutines of interest.
    std::mem::forget(runtime);
    Ok(())
}
