//! Eight tasks receive messages. Three senders end in good order, so that their receivers do too;
//! two are leaked, so that theirs wait for ever; three go on.

use std::mem::forget;
use std::thread::sleep;
use std::time::Duration;

use ctp_zoo::{GroundTruth, Order, Receiver, Toy, channel};

async fn receive(receiver: Receiver<u64>, name: String, truth: GroundTruth) {
    loop {
        let _waiting = truth.enter(&name, line!() + 1);
        if receiver.recv().await.is_none() {
            return;
        }
    }
}

fn main() {
    ctp_nostd::attach();
    let (toy, truth) = (Toy::new(Order::FirstCome, 2), GroundTruth::new());
    let mut senders = Vec::new();
    for i in 0..8 {
        let (sender, receiver) = channel();
        let fate = [
            "ended", "ended", "ended", "leaked", "leaked", "kept", "kept", "kept",
        ][i];
        let name = format!("{fate}-{i}");
        toy.spawn(&name, receive(receiver, name.clone(), truth.clone()));
        senders.push(sender);
    }
    for round in 0..250 {
        senders.iter().for_each(|sender| sender.send(round));
        sleep(Duration::from_millis(10));
        if round == 20 {
            senders.drain(..3).for_each(drop);
            senders.drain(..2).for_each(forget);
        }
    }
    truth.record(|name| name.starts_with("leaked"));
}
