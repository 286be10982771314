//! What threads tell: wakes and closings.

use ctp_trace::record::*;

use super::{deed, read_site};
use crate::facts::{census, event, tally};

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
fn the_place_that_usually_wakes_a_site_is_counted_where_a_wake_ended_a_wait() {
    use EventKind::{Run, Suspend};
    let census = census(&[
        event(1, 0, 10, Run),
        deed(15, call(1, 1, 3)),
        event(1, 1, 20, Suspend),
        event(1, 2, 30, Run),
        event(1, 3, 40, Suspend),
        deed(45, call(1, 2, 4)),
        deed(50, call(1, 3, 3)),
        event(1, 4, 60, Run),
        deed(65, call(1, 4, 4)),
        event(1, 5, 70, Suspend),
        deed(75, call(1, 5, 3)),
    ]);
    let wakers = read_site(&census).wakers;
    assert_eq!(wakers.places().collect::<Vec<_>>(), [&(SiteId(3), 1)]);
    assert_eq!(wakers.count(), 1);
    let woken = census.get(CoroutineId(1)).unwrap().wakes.call.unwrap();
    assert_eq!((woken.at, woken.tid, woken.count), (Nanos(75), 7, 5));
}

// CT-14
#[test]
fn who_is_forgotten_is_not_brought_back_by_a_late_wake() {
    let census = census(&[
        event(1, 0, 10, EventKind::Death),
        tally(1, 1, 1),
        deed(15, call(1, 1, 3)),
    ]);
    assert!(census.coroutines().is_empty());
}

// CT-14
#[test]
fn a_closing_tells_what_a_coroutine_that_waits_has_lost() {
    let close = |arg, site| {
        Act::Close(Close {
            wait: WaitKind::Readable,
            arg,
            site: SiteId(site),
        })
    };
    let census = census(&[
        deed(5, close(0, 1)),
        event(1, 0, 10, EventKind::Suspend),
        deed(20, close(0, 2)),
        deed(30, close(0, 1)),
        deed(40, close(9, 1)),
    ]);
    let lost = census.closings();
    let closing = lost[&CoroutineId(1)];
    assert_eq!(
        (closing.at, closing.tid, closing.site),
        (Nanos(20), 7, SiteId(2))
    );
    assert_eq!((lost.len(), census.end_at()), (1, Nanos(40)));
}
