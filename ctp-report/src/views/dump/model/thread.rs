//! What threads did: wakes, closes, and locks.

use ctp_trace::record::{Act, Hold, ThreadEvent, Waker};

use super::{Field, Fields, fields};
use crate::evidence::resource;

pub(super) fn thread_event_fields(thread_event: &ThreadEvent) -> Fields {
    let (word, rest) = act(&thread_event.act);
    let mut all = vec![
        ("process", thread_event.process.0.into()),
        ("tid", thread_event.tid.into()),
    ];
    all.extend(rest);
    fields(word, Some(thread_event.at), all)
}

fn act(act: &Act) -> (&'static str, Vec<Field>) {
    match act {
        Act::Begin => ("thread-begins", vec![]),
        Act::End => ("thread-ends", vec![]),
        Act::Wake(call) => (
            "wakes",
            vec![
                ("coroutine", call.coroutine.0.into()),
                ("count", call.count.into()),
                ("by", waker(call.by).into()),
                ("site", call.site.0.into()),
            ],
        ),
        Act::Close(close) => (
            "closes",
            vec![
                ("wait", resource::word(close.wait).into()),
                ("arg", close.arg.into()),
                ("site", close.site.0.into()),
            ],
        ),
        Act::Acquire(hold) => ("acquires", hold_fields(hold)),
        Act::Release(hold) => ("releases", hold_fields(hold)),
        Act::Loss(records) => ("loses-records", vec![("records", (*records).into())]),
        _ => ("unknown", vec![]),
    }
}

fn hold_fields(hold: &Hold) -> Vec<Field> {
    let mut fields = vec![
        ("wait", resource::word(hold.wait).into()),
        ("arg", hold.arg.into()),
        ("by", waker(hold.by).into()),
        ("site", hold.site.0.into()),
    ];
    if hold.shared {
        fields.push(("shared", true.into()));
    }
    fields
}

pub(super) fn waker(waker: Waker) -> String {
    match waker {
        Waker::Foreign => "unknown".to_owned(),
        Waker::Thread(tid) => format!("tid {tid}"),
        Waker::Coroutine(id) => format!("coroutine {}", id.0),
    }
}
