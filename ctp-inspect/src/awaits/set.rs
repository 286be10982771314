//! Sets of futures that are polled with wakers of their own: `FuturesUnordered`, and what is built with such a set,
//! as `FuturesOrdered`, `buffer_unordered` and `for_each_concurrent`.

use super::frame::Walk;
use super::search::find;
use super::shown;
use super::view::{Value, View};
use super::waker::WakerOwner;
use crate::types::layout::Type;

const SET: &str = "::futures_unordered::FuturesUnordered";
/// How many references are followed in a row to find the set.
const MAX_REFERENCES: u32 = 4;
/// How many futures of a set are shown.
const MAX_CHILDREN: usize = 64;

/// A future in a set.
#[derive(Clone, Copy, Debug)]
struct Child {
    future: Value,
    /// The data of the wakers with which the set polls the future.
    waker_data: u64,
}

impl Walk<'_> {
    /// The futures in the only set that a future leads to. Returns whether there are any.
    pub(super) fn follow_set(&mut self, future: Value, layout: &Type, depth: u32) -> bool {
        let sets = find(self.view, future, SET, MAX_REFERENCES).unwrap_or_default();
        let [set] = sets[..] else {
            return false;
        };
        let children = children(self.view, set);
        if children.is_empty() {
            return false;
        }
        self.push(depth, shown(layout));
        if MAX_CHILDREN < children.len() {
            self.add_gap("a future has more branches than are shown");
        }
        for child in children.iter().take(MAX_CHILDREN) {
            let owner = self.replace_owner(WakerOwner::Set(child.waker_data));
            self.follow_unproven(child.future, depth + 1);
            self.replace_owner(owner);
        }
        true
    }
}

/// The futures in a set that have not ended, the latest first. A list that changes ends early.
fn children(view: &View<'_>, set: Value) -> Vec<Child> {
    let mut children = Vec::new();
    let mut next = view.member(set, "head_all");
    while let Some(link) = next
        && children.len() <= MAX_CHILDREN
    {
        let Some(task) = view.target(view.unwrapped(link)) else {
            break;
        };
        if let Some(future) = future_of(view, task) {
            children.push(Child {
                future,
                waker_data: task.address,
            });
        }
        next = view.member(task, "next_all");
    }
    children
}

/// The future of an entry of a set, unless it has ended.
fn future_of(view: &View<'_>, task: Value) -> Option<Value> {
    let future = view.unwrapped(view.member(task, "future")?);
    let (variant, contents) = view.variant_name(future)?;
    let future = view.member(contents, "__0")?;
    (variant == "Some").then_some(future)
}
