//! Events of threads: wakes and closes.

use ctp_trace::record::*;

use super::{read_site, thread_event};
use crate::facts::{event, event_counts, trace_model};

fn call(id: u32, count: u32, site: u32) -> Act {
    Act::Wake(WakeCall {
        coroutine: CoroutineId(id),
        count,
        site: SiteId(site),
        ..WakeCall::default()
    })
}

// CT-14
#[test]
fn recorded_calls_give_the_delays_of_runs() {
    use EventKind::{Run, Suspend};
    let trace_model = trace_model(&[
        event(1, 0, 10, Suspend),
        thread_event(15, call(1, 1, 3)),
        event(1, 1, 20, Run),
        event(1, 2, 30, Suspend),
        thread_event(32, call(1, 2, 3)),
        event(1, 3, 40, Run),
    ]);
    let queued = &read_site(&trace_model).queued;
    assert_eq!((queued.count(), queued.sum()), (2, Nanos(13)));
}

// CT-14
#[test]
fn only_wakes_that_end_a_wait_count_for_the_usual_waker() {
    use EventKind::{Run, Suspend};
    let trace_model = trace_model(&[
        event(1, 0, 10, Run),
        thread_event(15, call(1, 1, 3)),
        event(1, 1, 20, Suspend),
        event(1, 2, 30, Run),
        event(1, 3, 40, Suspend),
        thread_event(45, call(1, 2, 4)),
        thread_event(50, call(1, 3, 3)),
        event(1, 4, 60, Run),
        thread_event(65, call(1, 4, 4)),
        event(1, 5, 70, Suspend),
        thread_event(75, call(1, 5, 3)),
    ]);
    let wakers = read_site(&trace_model).wakers;
    let origins = wakers.origins();
    let places: Vec<_> = origins
        .map(|(origin, waits)| (origin.site, *waits))
        .collect();
    assert_eq!(places, [(SiteId(3), 1)]);
    assert_eq!(wakers.count(), 1);
    let woken = trace_model.get(CoroutineId(1)).unwrap().wakes.call.unwrap();
    assert_eq!((woken.at, woken.tid, woken.count), (Nanos(75), 7, 5));
}

// CT-14
#[test]
fn a_late_wake_does_not_bring_back_a_removed_coroutine() {
    let trace_model = trace_model(&[
        event(1, 0, 10, EventKind::Death),
        event_counts(1, 1, 1),
        thread_event(15, call(1, 1, 3)),
    ]);
    assert!(trace_model.coroutines().is_empty());
}

// CT-14
#[test]
fn the_first_close_during_a_wait_is_kept() {
    let close = |arg, site| {
        Act::Close(Close {
            wait: WaitKind::Readable,
            arg,
            site: SiteId(site),
        })
    };
    let trace_model = trace_model(&[
        thread_event(5, close(0, 1)),
        event(1, 0, 10, EventKind::Suspend),
        thread_event(20, close(0, 2)),
        thread_event(30, close(0, 1)),
        thread_event(40, close(9, 1)),
    ]);
    let lost = trace_model.closings();
    let closing = lost[&CoroutineId(1)];
    assert_eq!(
        (closing.at, closing.tid, closing.site),
        (Nanos(20), 7, SiteId(2))
    );
    assert_eq!((lost.len(), trace_model.end_at()), (1, Nanos(40)));
}
