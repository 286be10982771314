//! One line on the terminal that says how it goes, written over itself.
//!
//! The program owns the terminal, so the line is only there while the program's own output goes
//! elsewhere: stderr is a terminal and stdout is none. The cursor waits at its beginning, so that
//! what the program says on stderr all the same goes over it.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use crate::args::Talk;
use crate::words::{grouped, size};

/// The line.
#[derive(Debug)]
pub struct Status {
    begun: Instant,
    shown: Instant,
    events: u64,
}

/// What there is to say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Events that were recorded.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Bytes that wait to be written.
    pub backlog_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
}

const EVERY: Duration = Duration::from_millis(500);

impl Status {
    /// Where somebody may look at it.
    pub fn where_seen(talk: Talk) -> Option<Self> {
        let is_seen = io::stderr().is_terminal() && !io::stdout().is_terminal();
        (Talk::Quiet < talk && is_seen).then(|| Status {
            begun: Instant::now(),
            shown: Instant::now(),
            events: 0,
        })
    }

    /// Shows it anew, twice a second at most.
    pub fn show(&mut self, progress: impl FnOnce() -> Progress) {
        let since = self.shown.elapsed();
        if since < EVERY {
            return;
        }
        let progress = progress();
        let rate = (progress.events - self.events) as f64 / since.as_secs_f64();
        let line = line(self.begun.elapsed(), rate as u64, progress);
        (self.shown, self.events) = (Instant::now(), progress.events);
        say(&format!("\r{line}\x1b[K\r"));
    }

    /// Takes the line away, for another one.
    pub fn make_room(&self) {
        say("\r\x1b[K");
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.make_room();
    }
}

fn say(text: &str) {
    // Where stderr takes nothing, there is nobody to be told.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn line(running: Duration, rate: u64, progress: Progress) -> String {
    format!(
        "{} s: {} events, {}/s, {} lost, {} waiting, {} written",
        running.as_secs(),
        grouped(progress.events),
        grouped(rate),
        grouped(progress.lost),
        size(progress.backlog_bytes),
        size(progress.written_bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_recording_fits_on_a_line() {
        let progress = Progress {
            events: 3_000_000_000,
            lost: 12_000_000,
            backlog_bytes: 512 << 20,
            written_bytes: 9 << 30,
        };
        let line = line(Duration::from_secs(3600), 20_000_000, progress);
        assert_eq!(
            line,
            "3600 s: 3 000 000 000 events, 20 000 000/s, 12 000 000 lost, 536.9 MB waiting, 9.7 GB written"
        );
    }
}
