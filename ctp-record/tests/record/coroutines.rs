//! What the trace says of each coroutine, against what the program itself wrote down.

use std::collections::{BTreeMap, BTreeSet};

use ctp_trace::record::{EventKind, Place, WaitKind};

use crate::lab::Lab;

// CTP-20, CT-16
#[test]
fn coroutine_dropped_while_suspended_is_dead() {
    let lab = Lab::new();
    let outcome = lab.record(&[], "churn", &["truth", "20"]);
    let trace = lab.trace();
    let cancelled = |name: &str| name.starts_with("cancelled");
    let dead: Vec<_> = trace
        .coroutines
        .values()
        .filter(|coroutine| cancelled(&coroutine.birth.name))
        .collect();
    assert_eq!(dead.len(), 20);
    for coroutine in dead {
        let life = [
            EventKind::Birth,
            EventKind::Run,
            EventKind::Suspend,
            EventKind::Death,
        ];
        assert_eq!(coroutine.kinds(), life);
    }
    assert!(
        outcome.stderr.contains("nothing looks stuck"),
        "{}",
        outcome.stderr
    );
}

// CTP-21, CT-22
#[test]
fn live_coroutines_have_their_state_and_birth_time() {
    let lab = Lab::new();
    lab.record(&[], "churn", &["truth", "3"]);
    let trace = lab.trace();
    let state = |name| trace.named(name).last();
    assert_eq!(state("never-ran"), EventKind::Birth);
    assert_eq!(state("runs"), EventKind::Run);
    assert_eq!(state("waits"), EventKind::Suspend);
    for line in lab.truth("truth").iter().skip(3) {
        let born = trace.named(&line[0]).birth.at.0 + trace.start.started_monotonic_ns;
        let [before, after] = [2, 3].map(|index| line[index].parse::<u64>().expect("a time"));
        assert!((before..=after).contains(&born), "{line:?}: {born}");
    }
}

// CTP-24
#[test]
fn ids_are_unique_across_reused_stations() {
    let lab = Lab::new();
    lab.record(&[], "churn", &["truth", "3000"]);
    let trace = lab.trace();
    let given: BTreeSet<String> = lab
        .truth("truth")
        .into_iter()
        .map(|mut line| line.remove(1))
        .collect();
    let recorded: BTreeSet<_> = trace
        .coroutines
        .values()
        .map(|coroutine| coroutine.birth.probe_id.to_string())
        .collect();
    assert_eq!(given.len(), 3003);
    assert_eq!(recorded, given);
}

// CTP-25, CTP-26
#[test]
fn each_event_has_the_thread_and_time_of_the_program() {
    let lab = Lab::new();
    lab.record(&[], "wanderer", &["truth", "3", "200"]);
    let trace = lab.trace();
    let mut witnessed: BTreeMap<String, Vec<[u64; 3]>> = BTreeMap::new();
    for line in lab.truth("truth") {
        let numbers = [1, 2, 3].map(|index| line[index].parse().expect("a number"));
        witnessed.entry(line[0].clone()).or_default().push(numbers);
    }
    assert_eq!(witnessed.len(), 3);
    for (name, truth) in witnessed {
        let coroutine = trace.named(&name);
        assert_eq!(coroutine.event_counts().attempted, truth.len() as u64);
        for event in &coroutine.events {
            let [tid, before, after] = truth[event.n as usize];
            let at = event.at.0 + trace.start.started_monotonic_ns;
            assert_eq!(event.tid, tid);
            assert!((before..=after).contains(&at), "{event:?}");
        }
        let threads: BTreeSet<_> = truth.iter().map(|[tid, ..]| tid).collect();
        assert_eq!(threads.len(), 3, "main and both threads");
    }
}

// CT-13
#[test]
fn suspend_has_the_line_and_the_resource() {
    let lab = Lab::new();
    lab.record(&[], "paced", &["truth", "3", "5", "300"]);
    let trace = lab.trace();
    let mut sites = BTreeSet::new();
    for (index, coroutine) in trace.coroutines.values().enumerate() {
        for event in coroutine
            .events
            .iter()
            .filter(|event| event.kind == EventKind::Suspend)
        {
            assert_eq!((event.wait, event.arg), (WaitKind::User, index as u64));
            sites.insert(event.site);
        }
    }
    let [site] = sites.into_iter().collect::<Vec<_>>()[..] else {
        panic!("all of them wait at one line");
    };
    let Place::Source { file, line, .. } = &trace.sites[&site] else {
        panic!("a line of the program");
    };
    assert_eq!(file, "ctp-record/examples/paced.rs");
    let source = include_str!("../../examples/paced.rs");
    let text = source.lines().nth(*line as usize - 1);
    assert!(
        text.is_some_and(|text| text.contains("task.suspend")),
        "{text:?}"
    );
}

// CT-23
#[test]
fn without_a_recorder_the_probe_does_nothing() {
    let lab = Lab::new();
    let mut command = lab.command(crate::lab::fixture("paced"));
    let outcome = lab.run(command.args(["truth", "3", "5", "0", "exit", "9"]));
    assert_eq!(outcome.status.code(), Some(9));
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""));
    assert_eq!(lab.truth("truth").len(), 3);
}
