//! CTP-05: more coroutines than places.

use crate::lab::Lab;

// CTP-05
#[test]
fn refused_coroutines_are_counted_with_a_remedy() {
    let lab = Lab::new();
    let outcome = lab.record(&["-n", "4"], "paced", &["truth", "10", "5", "100"]);
    let trace = lab.trace();
    assert_eq!(trace.start.capacity, 4);
    assert_eq!(trace.coroutines.len(), 4);
    assert_eq!(trace.end().refused, 6);
    for line in &lab.truth("truth")[..4] {
        assert_eq!(
            trace.named(&line[0]).event_counts().attempted.to_string(),
            line[1]
        );
    }
    let stderr = &outcome.stderr;
    assert!(stderr.contains("6 refused"), "{stderr}");
    assert!(stderr.contains("-n 10 would have kept the 6"), "{stderr}");

    lab.record(&["-n", "10"], "paced", &["truth", "10", "5", "100"]);
    assert_eq!(lab.trace().end().refused, 0);
}

// CTP-04, CTP-05
#[test]
fn v1_peer_cannot_claim_past_the_maximum() {
    let lab = Lab::new();
    let arguments = ["truth", "d2", "8", "8", "1", "2000"];
    let outcome = lab.record(&["-n", "3"], "v1_writer", &arguments);
    let trace = lab.trace();
    assert_eq!(trace.coroutines.len(), 3);
    assert_eq!(trace.end().refused, 5, "{}", outcome.stderr);
    trace.is_complete();
}
