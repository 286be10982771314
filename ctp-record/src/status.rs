//! One line on the terminal that says how it goes, written over itself.
//!
//! The program owns the terminal, so the line is only there while the program's own output goes
//! elsewhere: stderr is a terminal and stdout is none. The cursor waits at its beginning, so that
//! what the program says on stderr all the same goes over it.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::config::Verbosity;
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
pub struct Progress<'p> {
    /// Events that were recorded.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Bytes that wait to be written.
    pub backlog_bytes: u64,
    /// Bytes that are written.
    pub written_bytes: u64,
    /// Why no more of them can be.
    pub failure: Option<&'p io::Error>,
}

const EVERY: Duration = Duration::from_millis(500);

impl Status {
    /// Where somebody may look at it.
    pub fn where_seen(verbosity: Verbosity) -> Option<Self> {
        let is_seen = io::stderr().is_terminal() && !io::stdout().is_terminal();
        (Verbosity::Quiet < verbosity && is_seen).then(|| Status {
            begun: Instant::now(),
            shown: Instant::now(),
            events: 0,
        })
    }

    /// Shows it anew, twice a second at most.
    pub fn show<'p>(&mut self, progress: impl FnOnce() -> Progress<'p>) {
        let since = self.shown.elapsed();
        if since < EVERY {
            return;
        }
        let progress = progress();
        let rate = (progress.events - self.events) as f64 / since.as_secs_f64();
        let line = line(self.begun.elapsed(), rate as u64, progress);
        (self.shown, self.events) = (Instant::now(), progress.events);
        say(&format!("\r{}\x1b[K\r", cut(&line, columns())));
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

/// As wide as the terminal is; 0 if it does not tell.
fn columns() -> usize {
    tcgetwinsize(io::stderr()).map_or(0, |it| it.ws_col.into())
}

/// Who wrote in the last column might be on the next line, from where no return leads back.
fn cut(line: &str, columns: usize) -> String {
    match columns {
        0 => line.to_owned(),
        columns => line.chars().take(columns - 1).collect(),
    }
}

fn line(running: Duration, rate: u64, progress: Progress<'_>) -> String {
    let failure = progress.failure;
    let failure = failure.map_or(String::new(), |it| format!("cannot write ({it}), "));
    format!(
        "{} s: {failure}{} events, {}/s, {} lost, {} waiting, {} written",
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
            failure: None,
        };
        let line = line(Duration::from_secs(3600), 20_000_000, progress);
        assert_eq!(
            line,
            "3600 s: 3 000 000 000 events, 20 000 000/s, 12 000 000 lost, 536.9 MB waiting, 9.7 GB written"
        );
        assert_eq!(cut(&line, 9), "3600 s: ");
        assert_eq!(cut(&line, 0), line);
    }

    // CT-08
    #[test]
    fn a_file_that_takes_no_more_is_told_first() {
        let failure = io::Error::from_raw_os_error(28);
        let progress = Progress {
            failure: Some(&failure),
            ..Progress::default()
        };
        let line = line(Duration::from_secs(2), 0, progress);
        let begin = "2 s: cannot write (No space left on device (os error 28)), 0 events";
        assert!(line.starts_with(begin), "{line}");
    }
}
