//! Golden traces of descriptors as seen from outside.

use ctp_trace::record::*;

use super::written;

/// Every result of a look, at descriptors of every kind.
pub(super) fn looks() -> Vec<u8> {
    looks_that_saw(&[
        (Thing::Socket, Seen::Open),
        (Thing::Socket, Seen::Closed),
        (Thing::Pipe, Seen::Replaced),
        (Thing::Event, Seen::Readable(3)),
        (Thing::Socket, Seen::Readable(u64::MAX)),
        (Thing::Socket, Seen::HungUp),
        (Thing::Other, Seen::Hidden),
    ])
}

/// Closed descriptor numbers; the file behind a number may still be open elsewhere.
pub(super) fn numbers() -> Vec<u8> {
    looks_that_saw(&[
        (Thing::Pipe, Seen::Open),
        (Thing::Pipe, Seen::NumberClosed),
        (Thing::Event, Seen::NumberClosed),
    ])
}

/// Descriptors with nothing to read, and one of unknown state.
pub(super) fn nothing_to_read() -> Vec<u8> {
    looks_that_saw(&[
        (Thing::Socket, Seen::Empty),
        (Thing::Event, Seen::Empty),
        (Thing::Pipe, Seen::Open),
    ])
}

/// Descriptors that no epoll instance watches.
pub(super) fn unwatched() -> Vec<u8> {
    looks_that_saw(&[
        (Thing::Socket, Seen::Unwatched(0)),
        (Thing::Socket, Seen::Unwatched(5)),
        (Thing::Pipe, Seen::Open),
    ])
}

fn looks_that_saw(seen: &[(Thing, Seen)]) -> Vec<u8> {
    let looks = (0..).zip(seen).map(|(i, (thing, seen))| {
        Record::Look(Look {
            coroutine: CoroutineId(1 + i),
            since: Nanos(1_000),
            at: Nanos(2_000_000_000 + u64::from(i)),
            fd: 17,
            thing: *thing,
            seen: *seen,
        })
    });
    let end = End {
        at: Nanos(3_000_000_000),
        how: ExitReason::Exited(0),
        ..End::default()
    };
    written(&Start::default(), &looks.collect::<Vec<_>>(), &end)
}
