//! What the recorder observed from outside: descriptors, threads, sockets, and call stacks.

use ctp_trace::record::{CoroutineStack, Look, Seen, Sockets, Threads};

use super::{Field, address};
use crate::evidence::observations;

pub(super) fn look_fields(look: &Look) -> Vec<Field> {
    let (seen, amount) = match look.seen {
        Seen::Open => ("open", 0),
        Seen::Closed => ("closed", 0),
        Seen::Replaced => ("replaced", 0),
        Seen::Readable(amount) => ("readable", amount),
        Seen::HungUp => ("hung-up", 0),
        Seen::Hidden => ("hidden", 0),
        Seen::NumberClosed => ("number-closed", 0),
        Seen::ClosedAtFirst => ("closed-at-first", 0),
        Seen::Empty => ("nothing-to-read", 0),
        Seen::Unwatched(amount) => ("unwatched", amount),
        _ => ("unknown", 0),
    };
    vec![
        ("coroutine", look.coroutine.0.into()),
        ("since", look.since.0.into()),
        ("fd", look.fd.into()),
        ("thing", observations::thing(look.thing).into()),
        ("seen", seen.into()),
        ("amount", amount.into()),
    ]
}

pub(super) fn threads_fields(threads: &Threads) -> Vec<Field> {
    vec![
        ("process", threads.process.0.into()),
        ("parked", threads.parked.into()),
        ("sleeping", threads.sleeping.into()),
        ("others", threads.others.into()),
    ]
}

pub(super) fn sockets_fields(sockets: &Sockets) -> Vec<Field> {
    vec![
        ("process", sockets.process.0.into()),
        ("undrained", sockets.undrained.into()),
        ("unsent", sockets.unsent.into()),
    ]
}

pub(super) fn coroutine_stack_fields(stack: &CoroutineStack) -> Vec<Field> {
    let addresses = stack.addresses.iter().map(|number| address(*number));
    vec![
        ("coroutine", stack.coroutine.0.into()),
        ("since", stack.since.0.into()),
        ("addresses", addresses.collect()),
        ("whole", stack.is_whole.into()),
        ("moving", stack.is_moving.into()),
    ]
}
