//! The firmware's own account of its tasks.

use core::sync::atomic::{AtomicU32, Ordering};

use riscv_semihosting::hprintln;

use crate::tasks::{NAMES, TASKS};

/// The account of each task.
pub static ACCOUNTS: [Account; TASKS] = [const { Account::new() }; TASKS];

/// How often a task ran, suspended and was woken.
pub struct Account {
    runs: AtomicU32,
    suspends: AtomicU32,
    wakes: AtomicU32,
    /// Wakes before the latest run.
    answered: AtomicU32,
}

impl Account {
    const fn new() -> Self {
        Account {
            runs: AtomicU32::new(0),
            suspends: AtomicU32::new(0),
            wakes: AtomicU32::new(0),
            answered: AtomicU32::new(0),
        }
    }

    /// Counts the start of a run.
    pub fn run(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let wakes = self.wakes.load(Ordering::Relaxed);
        self.answered.store(wakes, Ordering::Relaxed);
    }

    /// Counts the end of a run.
    pub fn suspend(&self) {
        self.suspends.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a wake.
    pub fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

/// Prints the account of all tasks.
pub fn print() {
    for (name, account) in NAMES.iter().zip(&ACCOUNTS) {
        hprintln!(
            "task {} runs {} suspends {} wakes {} answered {}",
            name,
            account.runs.load(Ordering::Relaxed),
            account.suspends.load(Ordering::Relaxed),
            account.wakes.load(Ordering::Relaxed),
            account.answered.load(Ordering::Relaxed)
        );
    }
    hprintln!("done");
}
