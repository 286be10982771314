//! Coroutines that change threads: `wanderer TRUTH COROUTINES HOPS`.
//!
//! Each coroutine moves between two threads HOPS times, and runs and suspends once on each. TRUTH
//! receives a line for each event, in the order of each coroutine: its name, the kernel's thread
//! id, and the monotonic clock before and after.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use ctp_nostd::{self as ctp, Linux, Platform as _, Task, Wait};

struct Wanderer {
    name: String,
    task: Task,
    hops: u64,
    truth: String,
}

fn main() {
    ctp::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let (here, at_here) = channel();
    let (there, at_there) = channel();
    let (done, finished) = channel();
    for index in 0..number(1) {
        here.send(set_out(format!("wanderer-{index}"), number(2)))
            .expect("the receiver is alive");
    }
    let also_done = done.clone();
    thread::spawn(move || carry(&at_here, &there, &done));
    thread::spawn(move || carry(&at_there, &here, &also_done));
    let truth: String = finished.iter().take(number(1) as usize).collect();
    std::fs::write(&arguments[0], truth).expect("truth can be written");
}

fn set_out(name: String, hops: u64) -> Wanderer {
    let mut wanderer = Wanderer {
        name,
        task: Task::mute(),
        hops,
        truth: String::new(),
    };
    wanderer.witness(|wanderer| wanderer.task = Task::born(&wanderer.name));
    wanderer
}

fn carry(arrivals: &Receiver<Wanderer>, onward: &Sender<Wanderer>, done: &Sender<String>) {
    for mut wanderer in arrivals {
        wanderer.witness(|wanderer| wanderer.task.run());
        wanderer.witness(|wanderer| wanderer.task.suspend(Wait::user(wanderer.hops)));
        if wanderer.hops == 0 {
            wanderer.witness(|wanderer| wanderer.task = Task::mute());
            done.send(wanderer.truth).expect("main waits");
            continue;
        }
        wanderer.hops -= 1;
        if onward.send(wanderer).is_err() {
            return;
        }
    }
}

impl Wanderer {
    /// Does what makes an event, and writes down when and on which thread.
    fn witness(&mut self, act: impl FnOnce(&mut Self)) {
        let before = Linux::now_ns();
        act(self);
        let after = Linux::now_ns();
        let tid = rustix::thread::gettid().as_raw_nonzero();
        self.truth += &format!("{} {tid} {before} {after}\n", self.name);
    }
}
