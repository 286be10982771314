//! Signals that end this program. They are noted, so that the recorder is ended, its trace is deleted and the
//! terminal is restored first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};

const SIGNALS: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The longest time until a signal is noticed.
pub const REACTION: Duration = Duration::from_millis(200);

/// Notes signals that end this program. A second signal ends the program at once.
#[derive(Clone, Debug)]
pub struct Signals(Arc<AtomicUsize>);

impl Signals {
    /// Begins to note signals, which no longer end this program.
    ///
    /// # Errors
    /// If the kernel refuses a handler.
    pub fn watch() -> io::Result<Self> {
        let arrived = Arc::new(AtomicUsize::new(0));
        let is_second = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            let number = usize::try_from(signal).unwrap_or_default();
            // A second signal ends the program also while a large trace is read.
            flag::register_conditional_default(signal, is_second.clone())?;
            flag::register_usize(signal, arrived.clone(), number)?;
            flag::register(signal, is_second.clone())?;
        }
        Ok(Signals(arrived))
    }

    /// Whether a signal has arrived.
    pub fn have_arrived(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Sleeps for this time, or until a signal arrives. Returns whether none has arrived.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.have_arrived() {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            thread::sleep(rest.min(REACTION));
        }
        false
    }

    /// Ends this program as the signal would have done, if a signal has arrived.
    pub fn obey(&self) {
        let signal = i32::try_from(self.0.load(Ordering::Relaxed)).unwrap_or_default();
        if signal != 0 {
            // Fails only for signals that do not end programs.
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}
