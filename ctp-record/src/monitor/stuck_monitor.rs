//! Finds stuck coroutines while the program runs.
//!
//! Uses the rule of the report, [`ctp_trace::verdict::judge`], on the same records. With a trace, a [`Watch`] takes in
//! the records as they are ordered and written. A flight recorder writes no records: there, a snapshot is composed for
//! the watch ([`flight`]). Checks run several times within the shortest threshold, but use only a small part of a
//! processor.
//!
//! Some facts are known only at the end, such as the last records that a thread lost. A verdict that is
//! certain at the end may therefore be only likely now.

pub mod flight;
mod notifier;
mod places;
pub mod reported;
mod watch;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use ctp_trace::record::Nanos;

use notifier::Notifier;
pub use notifier::Purpose;
pub use watch::{StuckSite, Watch};

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonitorOptions {
    /// Report coroutines that are stuck for this long.
    pub report_after: Option<Duration>,
    /// Take a snapshot when a coroutine is stuck for this long.
    pub snapshot_after: Option<Duration>,
}

/// The result of a check, for each threshold.
#[derive(Debug)]
pub struct StuckObservation {
    /// Time of the check, in the trace's time.
    pub at: Nanos,
    /// By threshold: the sites with stuck or busy coroutines.
    pub findings: Vec<Vec<StuckSite>>,
    /// Processor time used by the thread that judged.
    pub cost: Duration,
}

/// Decides when to check and which findings are new.
#[derive(Debug)]
pub struct StuckMonitor {
    notifiers: Vec<Notifier>,
    sender: Sender<StuckObservation>,
    stuck_observations: Receiver<StuckObservation>,
    pause: Duration,
    share: u32,
    /// Processor time that the main thread spent on the latest check.
    took: Duration,
    /// When the next check is due; `None` while a check runs.
    next: Option<Instant>,
    /// Number of coroutines that were stuck at the latest check, by the first threshold.
    pub latest: usize,
    /// Whether the program was stopped when the latest check was due.
    was_stopped: bool,
}

/// Number of checks within the shortest threshold.
const CHECKS: u32 = 8;
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(500);
/// A check that took time `t` is followed by a pause of at least this many times `t`. A check of a trace only judges; a
/// check of a flight recorder reads everything that is kept.
const SHARE_OF_TRACE: u32 = 100;
const SHARE_OF_FLIGHT: u32 = 20;

impl StuckMonitor {
    /// A monitor for a flight recorder or a trace; `None` if the user did not ask for a monitor.
    pub fn of(monitor_options: MonitorOptions, is_flight: bool) -> Option<Self> {
        let notifiers: Vec<Notifier> = Purpose::notifiers(monitor_options).collect();
        let shortest = notifiers.iter().map(|notifier| notifier.after).min()?;
        let (sender, stuck_observations) = channel();
        Some(StuckMonitor {
            notifiers,
            sender,
            stuck_observations,
            pause: (Duration::from_nanos(shortest.0) / CHECKS).clamp(MIN_PAUSE, MAX_PAUSE),
            share: if is_flight {
                SHARE_OF_FLIGHT
            } else {
                SHARE_OF_TRACE
            },
            took: Duration::ZERO,
            next: Some(Instant::now()),
            latest: 0,
            was_stopped: false,
        })
    }

    /// The threshold of each notifier.
    pub fn thresholds(&self) -> Vec<Nanos> {
        self.notifiers
            .iter()
            .map(|notifier| notifier.after)
            .collect()
    }

    /// The shortest threshold.
    pub fn shortest_threshold(&self) -> Nanos {
        let all = self.notifiers.iter().map(|notifier| notifier.after);
        all.min().unwrap_or_default()
    }

    /// How long the main loop may sleep: until the next check, or, while a check runs, for the usual pause.
    pub fn pause(&self) -> Duration {
        self.next.map_or(self.pause, |next| {
            next.saturating_duration_since(Instant::now())
        })
    }

    /// Where a checking thread sends its result.
    pub fn sender(&self) -> Sender<StuckObservation> {
        self.sender.clone()
    }

    /// Whether a check is due: the latest check has ended, and the pause after that check is over.
    pub fn is_due(&self) -> bool {
        self.next.is_some_and(|next| next <= Instant::now())
    }

    /// Notes that a check has started, and the processor time of the main thread for it. Judging is counted separately.
    pub fn note_start(&mut self, took: Duration) {
        self.next = None;
        self.took = took;
    }

    /// Postpones the check, because there is nothing to check.
    pub fn postpone(&mut self) {
        self.next = Some(Instant::now() + self.pause);
    }

    /// Skips the check if the program is stopped, or was at the latest check: a program that has just resumed
    /// has not made progress yet.
    pub fn skips_stopped(&mut self, is_stopped: bool) -> bool {
        let was_stopped = std::mem::replace(&mut self.was_stopped, is_stopped);
        let is_skipped = is_stopped || was_stopped;
        if is_skipped {
            self.postpone();
        }
        is_skipped
    }

    /// Returns the findings since the last call, by notifier. A site is reported once, and again only when its count has
    /// doubled.
    pub fn take_findings(&mut self) -> Vec<(Purpose, Nanos, Vec<StuckSite>)> {
        let mut news = Vec::new();
        while let Ok(stuck_observation) = self.stuck_observations.try_recv() {
            let cost = self.took + stuck_observation.cost;
            self.next = Some(Instant::now() + self.pause.max(cost * self.share));
            let of_first = stuck_observation.findings.first();
            self.latest =
                of_first.map_or(0, |findings| findings.iter().map(StuckSite::stuck).sum());
            for (notifier, findings) in self.notifiers.iter_mut().zip(stuck_observation.findings) {
                news.push((
                    notifier.purpose,
                    stuck_observation.at,
                    notifier.news(findings),
                ));
            }
        }
        news.retain(|(_, _, findings)| !findings.is_empty());
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CT-26
    #[test]
    fn stopped_and_just_resumed_programs_are_skipped() {
        let monitor_options = MonitorOptions {
            report_after: Some(Duration::from_secs(1)),
            snapshot_after: None,
        };
        let mut stuck_monitor = StuckMonitor::of(monitor_options, false).expect("a monitor");
        let are_stopped = [false, true, true, false, false];
        let skipped = are_stopped.map(|is_stopped| stuck_monitor.skips_stopped(is_stopped));
        assert_eq!(skipped, [false, true, true, true, false]);
    }
}
