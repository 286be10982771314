//! Two threads have taken the same task out of a queue, and both resume it.

use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};

use ctp_nostd::{self as ctp, Wait};

const ROUNDS: usize = 3;

/// All of a round's runs come before its suspends.
fn resume(task: &Arc<Mutex<ctp::Task>>, met: &Arc<Barrier>) -> JoinHandle<()> {
    let (task, met) = (Arc::clone(task), Arc::clone(met));
    thread::spawn(move || {
        for _ in 0..ROUNDS {
            task.lock().expect("not poisoned").run();
            met.wait();
            if met.wait().is_leader() {
                task.lock().expect("not poisoned").suspend(Wait::unknown());
            }
            met.wait();
        }
    })
}

fn main() {
    ctp::attach();
    let task = Arc::new(Mutex::new(ctp::Task::born("twice")));
    let met = Arc::new(Barrier::new(2));
    for thread in [resume(&task, &met), resume(&task, &met)] {
        thread.join().expect("it resumes a task");
    }
    println!("broken twice {ROUNDS}");
    std::mem::forget(task);
}
