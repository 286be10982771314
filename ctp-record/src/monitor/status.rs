//! A status line on the terminal that is overwritten in place.
//!
//! The program owns the terminal. The line is therefore shown only if stderr is a terminal and stdout is
//! not. The cursor stays at the start of the line, so that stderr output of the program overwrites it.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use ctp_trace::escape::escaped;
use rustix::termios::tcgetwinsize;

use crate::cli::config::Verbosity;
use crate::cli::size::typed;
use crate::cli::stderr;
use crate::cli::words::{counted, grouped, seconds, size};

/// The status line.
#[derive(Debug)]
pub struct StatusLine {
    started: Instant,
}

/// The figures of the status line.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusFigures<'p> {
    /// Events so far, as in `ctp-record control PID status`.
    pub events: u64,
    /// Events a second, in the latest second or two.
    pub events_per_s: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Where events go.
    pub location: EventStore,
    /// Why writing failed.
    pub failure: Option<&'p io::Error>,
}

/// Where events are kept.
#[derive(Clone, Copy, Debug)]
pub enum EventStore {
    /// In a file.
    Trace {
        /// Bytes not written yet.
        backlog_bytes: u64,
        /// Bytes written.
        written_bytes: u64,
    },
    /// In memory, for snapshots.
    Flight {
        /// The longest time span kept, in nanoseconds.
        length_ns: Option<u64>,
        /// Bytes kept per thread.
        room_bytes: u64,
        /// Snapshots taken so far.
        snapshots: u32,
    },
}

impl Default for EventStore {
    fn default() -> Self {
        EventStore::Trace {
            backlog_bytes: 0,
            written_bytes: 0,
        }
    }
}

impl StatusLine {
    /// A status line, if there is a terminal to show it.
    pub fn if_seen(verbosity: Verbosity) -> Option<Self> {
        let is_seen = io::stderr().is_terminal() && !io::stdout().is_terminal();
        (Verbosity::Quiet < verbosity && is_seen).then(|| StatusLine {
            started: Instant::now(),
        })
    }

    /// Shows the line with these figures.
    pub fn show(&self, progress: StatusFigures<'_>) {
        let line = line(self.started.elapsed(), progress);
        let line = escaped(&line);
        stderr::say_over(cut(&line, columns()));
    }

    /// Clears the line, for other output.
    pub fn make_room(&self) {
        stderr::clear_line();
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.make_room();
    }
}

/// The terminal's width; 0 if unknown.
fn columns() -> usize {
    tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col.into())
}

/// Leaves the last column free: writing there may move the cursor to the next line for good.
fn cut(line: &str, columns: usize) -> &str {
    if columns == 0 {
        return line;
    }
    let end = line.char_indices().nth(columns - 1);
    end.map_or(line, |(end, _)| &line[..end])
}

fn line(running: Duration, progress: StatusFigures<'_>) -> String {
    let failure = progress.failure;
    let failure = failure.map_or(String::new(), |error| format!("cannot write ({error}), "));
    format!(
        "{} s: {failure}{} events, {}/s, {} lost, {}",
        running.as_secs(),
        grouped(progress.events),
        grouped(progress.events_per_s),
        grouped(progress.lost),
        location(progress.location),
    )
}

fn location(location: EventStore) -> String {
    match location {
        EventStore::Trace {
            backlog_bytes,
            written_bytes,
        } => {
            let (waiting, written) = (size(backlog_bytes), size(written_bytes));
            format!("{waiting} waiting, {written} written")
        }
        EventStore::Flight {
            length_ns,
            room_bytes,
            snapshots,
        } => {
            let latest = latest(length_ns, room_bytes);
            let snapshots = match snapshots {
                0 => String::new(),
                some => format!(", {}", counted(some.into(), "snapshot")),
            };
            format!("{latest} kept{snapshots}")
        }
    }
}

/// Describes what is kept: at most the requested time, because a busy thread fills its memory sooner.
fn latest(length_ns: Option<u64>, room_bytes: u64) -> String {
    match length_ns {
        Some(ns) => format!("at most the last {}", seconds(ns)),
        None => format!("the last {} of each thread", typed(room_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_recording_fits_on_a_line() {
        let progress = StatusFigures {
            events: 3_000_000_000,
            events_per_s: 20_000_000,
            lost: 12_000_000,
            location: EventStore::Trace {
                backlog_bytes: 512 << 20,
                written_bytes: 9 << 30,
            },
            failure: None,
        };
        let line = line(Duration::from_secs(3600), progress);
        assert_eq!(
            line,
            "3600 s: 3 000 000 000 events, 20 000 000/s, 12 000 000 lost, 536.9 MB waiting, 9.7 GB written"
        );
        assert_eq!(cut(&line, 9), "3600 s: ");
        assert_eq!(cut(&line, 0), line);
    }

    #[test]
    fn flight_recorder_line_shows_what_is_kept() {
        let line_of = |length_ns, snapshots| {
            let progress = StatusFigures {
                events: 4_612_987,
                events_per_s: 1_942_357,
                location: EventStore::Flight {
                    length_ns,
                    room_bytes: 16 << 20,
                    snapshots,
                },
                ..StatusFigures::default()
            };
            line(Duration::from_secs(2), progress)
        };
        assert_eq!(
            line_of(Some(30_000_000_000), 0),
            "2 s: 4 612 987 events, 1 942 357/s, 0 lost, at most the last 30.0 s kept"
        );
        assert_eq!(
            line_of(None, 1),
            "2 s: 4 612 987 events, 1 942 357/s, 0 lost, the last 16M of each thread kept, \
             1 snapshot"
        );
    }

    // CT-08
    #[test]
    fn a_write_failure_comes_first() {
        let failure = io::Error::from_raw_os_error(28);
        let progress = StatusFigures {
            failure: Some(&failure),
            ..StatusFigures::default()
        };
        let line = line(Duration::from_secs(2), progress);
        let begin = "2 s: cannot write (No space left on device (os error 28)), 0 events";
        assert!(line.starts_with(begin), "{line}");
    }
}
