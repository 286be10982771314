//! Call stacks of coroutines that wait on stacks of their own.

use ctp_trace::TraceModel;
use ctp_trace::record::*;

use super::birth;
use crate::facts::{event, event_counts, trace_model};

fn stack(id: u32, since: u64, address: u64) -> Record {
    Record::CoroutineStack(CoroutineStack {
        coroutine: CoroutineId(id),
        since: Nanos(since),
        at: Nanos(since + 5),
        addresses: vec![address],
        ..CoroutineStack::default()
    })
}

/// The coroutines with a known stack, and the innermost address of each.
fn stacks(model: &TraceModel) -> Vec<(u32, u64)> {
    let stacks = model.coroutine_stacks();
    stacks
        .map(|(coroutine, stack)| (coroutine.id.0, stack.addresses[0]))
        .collect()
}

// STB-09
#[test]
fn stack_describes_only_the_present_wait() {
    let mut model = trace_model(&[
        birth(1),
        birth(2),
        stack(1, 10, 0x100), // written before the block with the event
        event(1, 0, 10, EventKind::Suspend),
        event(2, 0, 20, EventKind::Suspend),
    ]);
    assert_eq!(stacks(&model), [(1, 0x100)]);
    model.consume(&stack(2, 20, 0x200));
    assert_eq!(stacks(&model), [(1, 0x100), (2, 0x200)]);
    model.consume(&event(1, 1, 30, EventKind::Run));
    assert_eq!(stacks(&model), [(2, 0x200)], "the first coroutine runs");
    model.consume(&event(1, 2, 40, EventKind::Suspend));
    assert_eq!(stacks(&model), [(2, 0x200)], "the wait is another");
    model.consume(&stack(1, 40, 0x300));
    assert_eq!(stacks(&model), [(1, 0x300), (2, 0x200)]);
    model.consume(&event(1, 3, 50, EventKind::Death));
    model.consume(&event_counts(1, 4, 4));
    assert_eq!(stacks(&model), [(2, 0x200)]);
}
