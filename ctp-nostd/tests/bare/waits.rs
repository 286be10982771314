//! What a suspend records of its wait.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ctp_nostd::{Local, Memory, Platform, WAIT_IDLE, WAIT_ONE_OF_SEVERAL, Wait, WaitKind};

use super::{dump, events, line_of};

board!(Announced, 6, 1);

#[track_caller]
fn leaf() -> Wait {
    Wait::readable(17)
}

// CT-13
#[test]
fn suspend_carries_the_announced_wait() {
    let region = dump(Announced::memory());
    let probe = Announced::memory().probe::<Announced>();
    let task = probe.born("reader");
    let last = || events(&region.stations[0]).pop().expect("an event").1;
    task.run();
    let (wait, line) = (leaf(), line!());
    probe.waits_for(wait);
    task.suspend_announced();
    assert_eq!(
        (last().tail.wait_kind, last().arg),
        (WaitKind::Readable as u8, 17)
    );
    assert_eq!(line_of(&region, last().site), (file!().to_owned(), line));

    task.suspend_announced();
    assert_eq!(
        (last().tail.wait_kind, last().site),
        (WaitKind::Unknown as u8, 0)
    );
    probe.waits_for(wait);
    task.run(); // earlier announcements do not belong to this run
    task.suspend_announced();
    assert_eq!(
        (last().tail.wait_kind, last().site),
        (WaitKind::Unknown as u8, 0)
    );
}

board!(Marked, 11, 1);

#[test]
fn suspend_carries_the_marks_of_the_wait() {
    let region = dump(Marked::memory());
    let probe = Marked::memory().probe::<Marked>();
    let task = probe.born("listener");
    let code = || {
        events(&region.stations[0])
            .pop()
            .expect("an event")
            .1
            .tail
            .wait_kind
    };
    task.run();
    task.suspend(leaf().idle());
    assert_eq!(code(), WaitKind::Readable as u8 | WAIT_IDLE);
    task.run();
    probe.waits_for(leaf().idle());
    probe.waits_for(Wait::timer(5));
    task.suspend_announced();
    assert_eq!(code(), WaitKind::Timer as u8 | WAIT_ONE_OF_SEVERAL);
    assert_eq!(WaitKind::from_code(code()), WaitKind::Timer);
}

board!(Around, 21, 2);

#[test]
fn outer_wait_is_marked_after_an_inner_wait() {
    let region = dump(Around::memory());
    let probe = Around::memory().probe::<Around>();
    let (around, inside) = (probe.born("around"), probe.born("inside"));
    let code = |station: usize| {
        let last = events(&region.stations[station]).pop();
        last.expect("an event").1.tail.wait_kind
    };
    around.run();
    inside.run();
    probe.waits_for(Wait::timer(5));
    inside.suspend_announced();
    probe.waits_for(leaf());
    around.suspend_announced();
    assert_eq!(code(1), WaitKind::Timer as u8);
    assert_eq!(code(0), WaitKind::Readable as u8 | WAIT_ONE_OF_SEVERAL);

    around.run();
    inside.run();
    inside.suspend_announced();
    around.suspend_announced();
    assert_eq!(code(0), WaitKind::Unknown as u8, "no announcement");
    around.run();
    probe.waits_for(leaf());
    around.suspend_announced();
    assert_eq!(
        code(0),
        WaitKind::Readable as u8,
        "announced before the outer wait"
    );
}

board!(Over, 22, 2);

#[test]
fn inner_announcement_ends_with_the_inner_run() {
    let region = dump(Over::memory());
    let probe = Over::memory().probe::<Over>();
    let (around, inside) = (probe.born("around"), probe.born("inside"));
    let last = || events(&region.stations[0]).pop().expect("an event").1;
    let last_wait = || (last().tail.wait_kind, last().site);
    around.run();
    inside.run();
    probe.waits_for(leaf());
    inside.suspend(Wait::timer(5));
    around.suspend_announced();
    assert_eq!(last_wait(), (WaitKind::Unknown as u8, 0));

    around.run();
    inside.run();
    probe.waits_for(leaf());
    drop(inside);
    around.suspend_announced();
    assert_eq!(last_wait(), (WaitKind::Unknown as u8, 0));
}
