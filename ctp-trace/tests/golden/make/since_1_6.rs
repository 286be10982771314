//! Makes the golden traces of what version 1.6 added.

use ctp_trace::record::*;

use super::written;

/// Waits that state which wakers their polls left.
pub(super) fn poll_wakers() -> Vec<u8> {
    let suspend = |n, wakers, one_of_several| Event {
        coroutine: CoroutineId(1),
        n,
        at: Nanos(100 * n),
        kind: EventKind::Suspend,
        marks: WaitMarks {
            wakers,
            has_others: one_of_several,
            ..WaitMarks::default()
        },
        ..Event::default()
    };
    let events = [
        suspend(0, PollWakers::Taken, false),
        suspend(1, PollWakers::Unregistered, false),
        suspend(2, PollWakers::Earlier, false),
        suspend(3, PollWakers::Earlier, true),
        suspend(4, PollWakers::Taken, false),
    ];
    let end = End {
        at: Nanos(500),
        how: ExitReason::Exited(0),
        events: 5,
        coroutines: 1,
        ..End::default()
    };
    written(&Start::default(), &events.map(Record::Event), &end)
}

/// Observations of threads: two while none can continue by itself, and one afterwards.
pub(super) fn threads() -> Vec<u8> {
    let observed = |at, sleeping, others| {
        Record::Threads(Threads {
            process: ProcessId(1),
            at: Nanos(at),
            parked: 3,
            sleeping,
            others,
        })
    };
    let process = Process {
        id: ProcessId(1),
        pid: 4321,
        attached: Nanos(1000),
    };
    let records = [
        Record::Process(process),
        observed(1_000_000_000, 0, 0),
        observed(2_000_000_000, 1, 0),
        observed(3_000_000_000, 0, 2),
    ];
    let end = End {
        at: Nanos(4_000_000_000),
        how: ExitReason::Exited(0),
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

/// What the leaf future at a site waits for, and observations of sockets.
pub(super) fn leaves() -> Vec<u8> {
    let process = Process {
        id: ProcessId(1),
        pid: 4321,
        attached: Nanos(1000),
    };
    let site = |id| Site {
        id: SiteId(id),
        process: ProcessId(1),
        place: Place::ReturnAddress(0x5000 + u64::from(id)),
    };
    let leaf = |id, kind| {
        Record::Leaf(Leaf {
            site: SiteId(id),
            kind,
            ..Leaf::default()
        })
    };
    let sockets = |at, undrained, unsent| {
        Record::Sockets(Sockets {
            process: ProcessId(1),
            at: Nanos(at),
            undrained,
            unsent,
        })
    };
    let records = [
        Record::Process(process),
        Record::Site(site(1)),
        Record::Site(site(2)),
        leaf(1, LeafKind::Io),
        leaf(2, LeafKind::Reply),
        sockets(1_000_000_000, 0, 0),
        sockets(2_000_000_000, 2, 1),
    ];
    let end = End {
        at: Nanos(3_000_000_000),
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}

/// Call stacks of coroutines: a whole stack, a part of a stack, and none.
pub(super) fn stacks() -> Vec<u8> {
    let birth = |id| {
        Record::Birth(Birth {
            coroutine: CoroutineId(id),
            kind: CoroutineKind::Stackful,
            ..Birth::default()
        })
    };
    let suspend = |id: u32| {
        Record::Event(Event {
            coroutine: CoroutineId(id),
            at: Nanos(100 * u64::from(id)),
            kind: EventKind::Suspend,
            ..Event::default()
        })
    };
    let stack = |id: u32, addresses: &[u64], is_whole, is_moving| {
        Record::CoroutineStack(CoroutineStack {
            coroutine: CoroutineId(id),
            since: Nanos(100 * u64::from(id)),
            at: Nanos(1000),
            addresses: addresses.to_vec(),
            is_whole,
            is_moving,
        })
    };
    let mut records = [1, 2, 3].map(birth).to_vec();
    records.extend([1, 2, 3].map(suspend));
    records.extend([
        stack(1, &[0x5555_0010, 0x5555_0100, 0x5555_0040], true, false),
        stack(2, &[0x5555_0010], false, false),
        stack(3, &[], false, true),
    ]);
    let end = End {
        at: Nanos(2000),
        events: 3,
        coroutines: 3,
        ..End::default()
    };
    written(&Start::default(), &records, &end)
}
