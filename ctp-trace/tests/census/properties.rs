//! What holds of any stream of records.

use std::collections::HashMap;

use ctp_trace::record::EventKind::{Birth as Born, Death, Run, Suspend};
use ctp_trace::record::*;
use proptest::prelude::*;

use super::{SECOND, birth, wake};
use crate::facts::{census, end, event, tally};

fn any_record() -> impl Strategy<Value = Record> {
    let (id, n, at) = (1u32..6, 0u64..12, any::<u64>());
    let kind = prop::sample::select(vec![Born, Run, Suspend, Death]);
    prop_oneof![
        (1u32..6).prop_map(birth),
        (id.clone(), n, at, kind).prop_map(|(id, n, at, kind)| event(id, n, at, kind)),
        (id.clone(), any::<u32>(), at).prop_map(|(id, count, at)| wake(id, count, at)),
        (id, any::<u64>(), any::<u64>()).prop_map(|(id, a, r)| tally(id, a, r)),
        any::<u64>().prop_map(end),
    ]
}

proptest! {
    #[test]
    fn no_stream_of_records_panics(records in prop::collection::vec(any_record(), 0..80)) {
        let mut census = census(&records);
        census.damaged();
        prop_assert!(census.stuck(SECOND) <= census.judge(SECOND).len());
        census.sites();
        census.lost();
    }

    /// Without a loss, the spans fill each coroutine's life, and the sums are those of the spans.
    #[test]
    fn spans_are_complete(steps in prop::collection::vec((1u32..4, 1u64..1000), 1..100)) {
        let mut census = census(&[birth(1), birth(2), birth(3)]);
        let (mut clock, mut spans, mut counts) = (0, 0, HashMap::new());
        for (id, length) in steps {
            clock += length;
            let n = counts.entry(id).or_insert((0u64, clock));
            let kind = if n.0 % 2 == 0 { Run } else { Suspend };
            if let Some(span) = census.feed(&event(id, n.0, clock, kind)) {
                prop_assert_eq!(span.from, Nanos(n.1));
                spans += span.length().0;
            }
            *n = (n.0 + 1, clock);
        }
        let all = census.coroutines();
        prop_assert_eq!(all.iter().map(|one| one.waited.sum.0 + one.ran.sum.0).sum::<u64>(), spans);
        prop_assert_eq!(census.lost(), 0);
    }
}
