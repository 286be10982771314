//! Reused stations: each event belongs to the right coroutine.

use std::collections::BTreeSet;

use ctp_trace::record::{EventKind, Nanos, Wake};

use crate::lab::{Lab, runs};

// CTP-22, CTP-24
#[test]
fn successive_owners_of_a_station_are_separate() {
    let lab = Lab::new();
    let cycles = runs(5_000).to_string();
    lab.record(&["-n", "64"], "relay", &["truth", "4", &cycles]);
    let (trace, truth) = (lab.trace(), lab.truth("truth"));
    let (refused, ids) = truth.split_last().expect("there is a truth");
    let ids: BTreeSet<u64> = ids
        .iter()
        .map(|line| line[0].parse().expect("an id"))
        .collect();
    assert_eq!(trace.end().refused.to_string(), refused[1]);
    let recorded = trace
        .coroutines
        .values()
        .map(|coroutine| coroutine.birth.probe_id);
    assert_eq!(recorded.collect::<BTreeSet<_>>(), ids);
    assert_eq!(trace.coroutines.len(), ids.len(), "no id is given twice");
    for coroutine in trace.coroutines.values() {
        assert!(coroutine.birth.station < 64);
        assert_eq!(
            coroutine.kinds(),
            [
                EventKind::Birth,
                EventKind::Run,
                EventKind::Suspend,
                EventKind::Death
            ]
        );
        assert_eq!(coroutine.events[2].arg, coroutine.birth.probe_id);
        let died = coroutine.events[3].at;
        // Waker and time are stored after the count, and may be read in between.
        let is_own = |wake: &Wake| {
            let is_half_recorded = wake.at == Nanos(0);
            wake.count == 0 || is_half_recorded || died <= wake.at
        };
        assert!(
            coroutine.wakes.iter().all(is_own),
            "woken by the waker of another: {coroutine:?}"
        );
    }
}
