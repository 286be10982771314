//! The spans that each thread is in, and which span each of them awaits.
//!
//! A future that is polled inside another enters its span inside the span of the other. If the inner span is
//! exited and not closed, its future waits, and so the outer future waits for the inner future.

use std::cell::RefCell;

/// The id of a task that is not recorded.
const UNRECORDED: u64 = 0;

thread_local! {
    static ENTERED: RefCell<Entered> = const { RefCell::new(Entered { frames: Vec::new() }) };
}

/// The spans that a thread is in, the innermost last. Spans and tasks have the ids of `tracing` and of the
/// probe.
#[derive(Debug, Default)]
struct Entered {
    frames: Vec<Frame>,
}

#[derive(Debug)]
struct Frame {
    span: u64,
    /// The task of the span that was exited last directly inside this span, unless that span was entered again
    /// or closed since.
    awaited: Option<u64>,
}

impl Entered {
    fn enter(&mut self, span: u64, task: u64) {
        self.forget(task);
        self.frames.push(Frame {
            span,
            awaited: None,
        });
    }

    fn exit(&mut self, span: u64, parent: Option<u64>, task: u64) -> Option<u64> {
        let place = self.frames.iter().rposition(|frame| frame.span == span)?;
        let awaited = self.frames.remove(place).awaited;
        // A span with another parent is not a part of what the outer span does, as a span of the whole program.
        let outer = place
            .checked_sub(1)
            .and_then(|place| self.frames.get_mut(place));
        let outer = outer.filter(|outer| Some(outer.span) == parent);
        if let Some(outer) = outer {
            outer.awaited = Some(task).filter(|task| *task != UNRECORDED);
        }
        awaited
    }

    /// Forgets that a span awaits this task.
    fn forget(&mut self, task: u64) {
        for frame in &mut self.frames {
            frame.awaited.take_if(|awaited| *awaited == task);
        }
    }
}

/// Notes that this thread enters a span.
pub fn enter(span: u64, task: u64) {
    with(|entered| entered.enter(span, task));
}

/// Notes that this thread exits a span with this parent. Returns the task that the span awaits, if any.
pub fn exit(span: u64, parent: Option<u64>, task: u64) -> Option<u64> {
    with(|entered| entered.exit(span, parent, task)).flatten()
}

/// Notes that a span was closed, so that no span awaits it.
pub fn close(task: u64) {
    with(|entered| entered.forget(task));
}

/// `None` while the thread ends, when it has no list any more.
fn with<T>(change: impl FnOnce(&mut Entered) -> T) -> Option<T> {
    let changed = ENTERED.try_with(|entered| Some(change(&mut *entered.try_borrow_mut().ok()?)));
    changed.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: u64 = 1;
    const INNER: u64 = 2;

    /// A poll of the outer future, in which the inner future is polled.
    fn poll(entered: &mut Entered, is_closed: bool) -> Option<u64> {
        entered.enter(OUTER, 10);
        entered.enter(INNER, 20);
        assert_eq!(entered.exit(INNER, Some(OUTER), 20), None);
        if is_closed {
            entered.forget(20);
        }
        entered.exit(OUTER, None, 10)
    }

    #[test]
    fn an_outer_span_awaits_the_inner_span_until_it_is_closed() {
        let mut entered = Entered::default();
        assert_eq!(poll(&mut entered, false), Some(20));
        assert_eq!(poll(&mut entered, true), None);
        assert!(entered.frames.is_empty());
    }

    #[test]
    fn a_span_that_is_entered_again_is_not_awaited_meanwhile() {
        let mut entered = Entered::default();
        entered.enter(OUTER, 10);
        entered.enter(INNER, 20);
        entered.exit(INNER, Some(OUTER), 20);
        entered.enter(INNER, 20);
        assert_eq!(entered.frames[0].awaited, None);
    }

    #[test]
    fn a_span_of_another_parent_is_not_awaited() {
        let mut entered = Entered::default();
        entered.enter(OUTER, 10);
        entered.enter(INNER, 20);
        entered.exit(INNER, None, 20);
        assert_eq!(entered.exit(OUTER, None, 10), None);
    }

    #[test]
    fn spans_may_be_exited_in_any_order() {
        let mut entered = Entered::default();
        entered.enter(OUTER, 10);
        entered.enter(INNER, 20);
        assert_eq!(entered.exit(OUTER, None, 10), None);
        assert_eq!(entered.exit(INNER, Some(OUTER), 20), None);
        assert_eq!(entered.exit(INNER, Some(OUTER), 20), None, "exited already");
        assert!(entered.frames.is_empty());
    }
}
