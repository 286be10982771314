//! The firmware's own account of its tasks.

use core::future::{Future, poll_fn};
use core::pin::pin;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m_semihosting::hprintln;

/// How often the tasks of a function were spawned, polled, and polled without a result.
pub struct Account {
    name: &'static str,
    spawned: AtomicU32,
    polls: AtomicU32,
    pending: AtomicU32,
}

pub static BLINK: Account = Account::new("blink");
pub static RADIO: Account = Account::new("radio");
pub static CONTROL: Account = Account::new("control");
pub static SESSIONS: Account = Account::new("sessions");
pub static SESSION: Account = Account::new("session");

impl Account {
    const fn new(name: &'static str) -> Self {
        Account {
            name,
            spawned: AtomicU32::new(0),
            polls: AtomicU32::new(0),
            pending: AtomicU32::new(0),
        }
    }

    /// Counts the polls of a task.
    pub async fn of(&self, task: impl Future<Output = ()>) {
        add(&self.spawned);
        let mut task = pin!(task);
        poll_fn(|context| {
            add(&self.polls);
            let polled = task.as_mut().poll(context);
            if polled.is_pending() {
                add(&self.pending);
            }
            polled
        })
        .await;
    }

    fn print(&self) {
        hprintln!(
            "task {} spawned {} polls {} pending {}",
            self.name,
            self.spawned.load(Ordering::Relaxed),
            self.polls.load(Ordering::Relaxed),
            self.pending.load(Ordering::Relaxed)
        );
    }
}

fn add(count: &AtomicU32) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// Prints the account of all tasks. `missed` is the number of frames that no task has taken.
pub fn print(missed: u32) {
    for account in [&BLINK, &RADIO, &CONTROL, &SESSIONS, &SESSION] {
        account.print();
    }
    hprintln!("missed frames {}", missed);
    hprintln!("done");
}
