//! What is stuck, told while the program runs.
//!
//! The rule is that of the report, [`ctp_trace::verdict::judge`], on the same records: those that go
//! into the trace are counted by a [`Watch`] as they are put in order; of a flight recorder,
//! which writes none, a snapshot is composed for it ([`flight`]). Looks are taken some times within
//! the time after which something counts as stuck, but cost no more than a small part of a processor.
//!
//! What can be told only at the end, such as records that a thread lost last, is not known yet, so
//! that some of what is certain then is likely now.

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
pub use watch::{Finding, Watch};

/// What users asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonitorOptions {
    /// Tell of what is stuck for so long.
    pub say_after: Option<Duration>,
    /// Take a snapshot of it.
    pub snapshot_after: Option<Duration>,
}

/// What one look found, for each time that was asked for.
#[derive(Debug)]
pub struct StuckObservation {
    /// When, in the trace.
    pub at: Nanos,
    /// By threshold: the sites where somebody is stuck or busy.
    pub findings: Vec<Vec<Finding>>,
    /// What it took of a processor on the thread that judged.
    pub cost: Duration,
}

/// Decides when to look, and what of it is news.
#[derive(Debug)]
pub struct StuckMonitor {
    notifiers: Vec<Notifier>,
    sender: Sender<StuckObservation>,
    stuck_observations: Receiver<StuckObservation>,
    pause: Duration,
    share: u32,
    /// What the thread that reads did for the latest look.
    took: Duration,
    /// Nothing while a look is taken.
    next: Option<Instant>,
    /// Coroutines that were stuck at the latest look, by the first threshold.
    pub latest: usize,
    /// The program was stopped when there was to be a look.
    was_stopped: bool,
}

/// Looks within the time after which something is stuck.
const LOOKS: u32 = 8;
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Looks take no more than this part of a processor: those at a trace only judge, those at a flight
/// recorder read all that it has.
const SHARE_OF_TRACE: u32 = 100;
const SHARE_OF_FLIGHT: u32 = 20;

impl StuckMonitor {
    /// For a flight recorder or a trace; nothing if nobody wants to know.
    pub fn of(monitor_options: MonitorOptions, is_flight: bool) -> Option<Self> {
        let notifiers: Vec<Notifier> = Purpose::all(monitor_options).collect();
        let shortest = notifiers.iter().map(|notifier| notifier.after).min()?;
        let (sender, stuck_observations) = channel();
        Some(StuckMonitor {
            notifiers,
            sender,
            stuck_observations,
            pause: (Duration::from_nanos(shortest.0) / LOOKS).clamp(SHORTEST_PAUSE, LONGEST_PAUSE),
            share: match is_flight {
                true => SHARE_OF_FLIGHT,
                false => SHARE_OF_TRACE,
            },
            took: Duration::ZERO,
            next: Some(Instant::now()),
            latest: 0,
            was_stopped: false,
        })
    }

    /// How long something must be so to count, for each who wants to know.
    pub fn thresholds(&self) -> Vec<Nanos> {
        self.notifiers
            .iter()
            .map(|notifier| notifier.after)
            .collect()
    }

    /// The shortest of them.
    pub fn shortest(&self) -> Nanos {
        let all = self.notifiers.iter().map(|notifier| notifier.after);
        all.min().unwrap_or_default()
    }

    /// How long the loop may sleep: until the next look, or for as long as one may take.
    pub fn pause(&self) -> Duration {
        let until = |next: Instant| next.saturating_duration_since(Instant::now());
        self.next.map_or(self.pause, until)
    }

    /// Where sightings go.
    pub fn sender(&self) -> Sender<StuckObservation> {
        self.sender.clone()
    }

    /// Is it time to look? Not before the latest look is over, nor soon after one that took long.
    pub fn is_due(&self) -> bool {
        self.next.is_some_and(|next| next <= Instant::now())
    }

    /// A look is being taken, for which the thread that reads has worked so long; judging comes besides.
    pub fn started(&mut self, took: Duration) {
        self.next = None;
        self.took = took;
    }

    /// There is nobody to look at.
    pub fn skip(&mut self) {
        self.next = Some(Instant::now() + self.pause);
    }

    /// Nobody gets on in a program that is stopped, nor has yet where it has just gone on: there is
    /// nothing to be said of them then.
    pub fn passes_over(&mut self, is_stopped: bool) -> bool {
        let was_stopped = std::mem::replace(&mut self.was_stopped, is_stopped);
        let passes = is_stopped || was_stopped;
        if passes {
            self.skip();
        }
        passes
    }

    /// The news: for each purpose, of each site at which somebody is stuck, once.
    pub fn news(&mut self) -> Vec<(Purpose, Nanos, Vec<Finding>)> {
        let mut news = Vec::new();
        while let Ok(stuck_observation) = self.stuck_observations.try_recv() {
            let cost = self.took + stuck_observation.cost;
            self.next = Some(Instant::now() + self.pause.max(cost * self.share));
            let of_first = stuck_observation.findings.first();
            self.latest = of_first.map_or(0, |findings| findings.iter().map(Finding::stuck).sum());
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
    fn nothing_is_told_of_a_program_that_is_stopped_nor_as_soon_as_it_goes_on() {
        let monitor_options = MonitorOptions {
            say_after: Some(Duration::from_secs(1)),
            snapshot_after: None,
        };
        let mut stuck_monitor =
            StuckMonitor::of(monitor_options, false).expect("somebody wants to know");
        let are_stopped = [false, true, true, false, false];
        let passed_over = are_stopped.map(|is_stopped| stuck_monitor.passes_over(is_stopped));
        assert_eq!(passed_over, [false, true, true, true, false]);
    }
}
