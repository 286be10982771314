//! Totals instead of history: a summary is correct whatever happened to the events.
//!
//! `ledger` logs the time of each event in its own memory. The tests compute each figure from that
//! log, by its definition.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use ctp_trace::record::{Aggregate, Bins, Durations, EventKind, Nanos};
use rustix::process::Signal;

use crate::lab::{Lab, fixture, only_child, runs, send};
use crate::trace::{Coroutine, Trace};

const TRUTH: &str = "truth";

/// The program's log of a coroutine: the number of finished events, and the start of each.
struct Row {
    name: String,
    done: usize,
    times: Vec<u64>,
}

fn rows(lab: &Lab, events: usize) -> Vec<Row> {
    let bytes = fs::read(lab.path(TRUTH)).unwrap_or_default();
    let rows = bytes.chunks_exact(8 * (events + 1)).zip(0..);
    rows.map(|(row, number)| {
        let words = row.chunks_exact(8);
        let mut words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight")));
        Row {
            name: format!("ledger-{number}"),
            done: words.next().expect("a row begins with it") as usize,
            times: words.take_while(|at| *at != 0).collect(),
        }
    })
    .collect()
}

impl Row {
    /// Waits and runs that ended within this number of events. After the birth each event ends what
    /// the previous one began; odd numbers are runs.
    fn totals_after(&self, events: usize) -> (Durations, Durations) {
        let spans = self.times[..events].windows(2).zip(0..).skip(1);
        let all: Vec<(bool, u64)> = spans
            .map(|(pair, before)| (before % 2 == 1, pair[1] - pair[0]))
            .collect();
        let of = |is_run: bool| {
            all.iter()
                .filter(move |pair| pair.0 == is_run)
                .map(|pair| pair.1)
        };
        (figures(of(false)), figures(of(true)))
    }

    /// As in this trace after its last event, or during the unfinished event.
    fn is_summed_up_by(&self, aggregate: &Aggregate) {
        let reported = (aggregate.waiting, aggregate.running);
        assert_eq!(aggregate.left_out, 0);
        let may_be = self.done..=self.times.len();
        let is_match = may_be
            .clone()
            .any(|events| self.totals_after(events) == reported);
        assert!(is_match, "{}, {may_be:?}: {aggregate:?}", self.name);
    }
}

fn figures(all: impl Iterator<Item = u64>) -> Durations {
    let mut figures = Durations::default();
    for ns in all {
        figures.min = match figures.count {
            0 => Nanos(ns),
            _ => figures.min.min(Nanos(ns)),
        };
        figures.count += 1;
        figures.sum.0 += ns;
        figures.max = figures.max.max(Nanos(ns));
        let bound = |bin: usize| 1u64 << (8 + 2 * bin);
        let bin = (0..15).find(|bin| ns < bound(*bin)).unwrap_or(15);
        figures.bins[bin] += 1;
    }
    figures
}

fn aggregate(coroutine: &Coroutine) -> &Aggregate {
    let aggregate = coroutine
        .aggregate
        .as_ref()
        .expect("its totals were recorded");
    assert_eq!(aggregate.bins, Bins { lo: 8, step: 2 });
    aggregate
}

/// Its death ends a run.
const ODD: usize = 100_001;

// AGG-07, CT-24
#[test]
fn totals_cover_events_that_are_not_in_the_trace() {
    let lab = Lab::new();
    lab.record(&["--summary"], "ledger", &[TRUTH, "3", &ODD.to_string()]);
    let trace = lab.trace();
    for row in rows(&lab, ODD) {
        let coroutine = trace.named(&row.name);
        assert_eq!(row.done, ODD);
        assert_eq!(coroutine.event_counts().attempted, ODD as u64);
        assert!(
            coroutine.events.len() < 1_000,
            "{} events",
            coroutine.events.len()
        );
        assert_eq!(coroutine.last(), EventKind::Death);
        row.is_summed_up_by(aggregate(coroutine));
    }
    assert_eq!(trace.end().lost, 0, "what is summed up is not lost");
}

// AGG-06, AGG-07
#[test]
fn totals_of_a_program_killed_at_any_instant_are_exact() {
    killed_at_any_instant(&fixture("ledger"), 30);
}

/// The same of any build of `ledger`.
pub fn killed_at_any_instant(truth: &Path, tries: usize) {
    const EVENTS: usize = 400_000;
    let (mut seen, mut cut_short) = (0, 0);
    for run in 0..runs(tries) {
        let lab = Lab::new();
        let pause = Duration::from_micros(run as u64 * 7_919 % 40_000);
        let trace = killed_after(&lab, truth, EVENTS, pause);
        for row in rows(&lab, EVENTS).iter().filter(|row| row.done > 0) {
            row.is_summed_up_by(aggregate(trace.named(&row.name)));
            seen += 1;
            cut_short += usize::from(row.done < row.times.len());
        }
    }
    println!("{seen} coroutines, {cut_short} of them killed during an event");
    assert!(seen > 0, "none had begun: this proves nothing");
}

fn killed_after(lab: &Lab, truth: &Path, events: usize, pause: Duration) -> Trace {
    let mut command = lab.recorder(&["--summary"], truth);
    let recorder = command.args([TRUTH, "3", &events.to_string(), "wait"]);
    let recorder = recorder.spawn().expect("can be started");
    let program = only_child(recorder.id());
    sleep(pause);
    send(Signal::KILL, program);
    let outcome = lab.outcome(recorder);
    assert_eq!(outcome.status.code(), Some(128 + 9), "{}", outcome.stderr);
    lab.trace()
}

// AGG-17
#[test]
fn summary_size_does_not_depend_on_run_time() {
    let size_after = |events: &str| {
        let lab = Lab::new();
        lab.record(&["--summary"], "hot", &["truth", "2", "20", events]);
        crate::loss::counts_agree(&lab);
        let bytes = fs::metadata(lab.path("ctp.data")).expect("a trace").len();
        (bytes, lab.trace().end().at)
    };
    let ((short, _), (long, took)) = (size_after("2000"), size_after("200000"));
    // Totals are written at the end, and after 1 s, 3 s, 7 s, since a machine may be slow.
    let repetitions = 1 + u64::from((1 + took.0 / 1_000_000_000).ilog2());
    assert!(
        long < 4 * short * repetitions,
        "{short} bytes, and {long} of 100 times the events, written {repetitions} times"
    );
}

// AGG-16
#[test]
fn closing_lines_count_events_in_totals_only() {
    let lab = Lab::new();
    let outcome = lab.record(&["--summary"], "hot", &["truth", "1", "2", "20000"]);
    let message = &outcome.stderr;
    assert!(message.contains("40 000 events in totals ("), "{message}");
    assert!(message.contains(" 0 lost, 0 refused"), "{message}");
}

// AGG-13
#[test]
fn successive_coroutines_have_separate_totals() {
    let lab = Lab::new();
    lab.record(&["--summary", "-n", "64"], "relay", &["truth", "2", "2000"]);
    let trace = lab.trace();
    for coroutine in trace.coroutines.values() {
        let totals = aggregate(coroutine);
        // It was born, ran, and was dropped during its wait: only its run had ended.
        assert_eq!(coroutine.event_counts().attempted, 4);
        assert_eq!((totals.waiting.count, totals.running.count), (0, 1));
    }
}
