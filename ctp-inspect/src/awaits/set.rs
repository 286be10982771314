//! Sets of futures that are polled with wakers of their own: `FuturesUnordered`, the types that contain such a set
//! (such as those of `FuturesOrdered`, `buffer_unordered` and `for_each_concurrent`), and the tasks of a `JoinSet`.

use super::branch::{MAX_BRANCHES, MORE_BRANCHES};
use super::search::find;
use super::shown;
use super::view::{TargetView, TypedValue};
use super::waker::WakerOwner;
use super::walk::AwaitWalk;
use crate::types::layout::Type;

const SET: &str = "::futures_unordered::FuturesUnordered";
const JOIN_SET_LISTS: &str = "::idle_notified_set::ListsInner";
/// How many references are followed in a row to find the set.
const MAX_REFERENCES: u32 = 4;
const MAX_CHILDREN: usize = MAX_BRANCHES as usize;

/// A future in a set.
#[derive(Clone, Copy, Debug)]
struct Child {
    future: TypedValue,
    /// The data of the wakers with which the set polls the future.
    waker_data: u64,
}

impl AwaitWalk<'_> {
    /// Follows the futures in the only set that a future leads to. Returns whether there are any.
    pub(super) fn follow_set(&mut self, future: TypedValue, layout: &Type, depth: u32) -> bool {
        let sets = find(self.view, future, SET, MAX_REFERENCES).unwrap_or_default();
        let [set] = sets[..] else {
            return false;
        };
        let children = children(self.view, set);
        if children.is_empty() {
            return false;
        }
        self.add_frame(depth, shown(layout));
        self.follow_children(&children, depth + 1);
        true
    }

    /// Follows the tasks of the `JoinSet` that a closure polls. Returns whether there are any.
    pub(super) fn follow_join_set(&mut self, closure: TypedValue, depth: u32) -> bool {
        let lists = find(self.view, closure, JOIN_SET_LISTS, MAX_REFERENCES).unwrap_or_default();
        let [lists] = lists[..] else {
            return false;
        };
        let children = handles(self.view, lists);
        if children.is_empty() {
            return false;
        }
        self.add_frame(depth, "tokio::task::JoinSet".to_owned());
        self.follow_children(&children, depth + 1);
        true
    }

    fn follow_children(&mut self, children: &[Child], depth: u32) {
        if MAX_CHILDREN < children.len() {
            self.add_gap(MORE_BRANCHES);
        }
        for child in children.iter().take(MAX_CHILDREN) {
            let owner = self.replace_owner(WakerOwner::Set(child.waker_data));
            self.follow_unproven(child.future, depth);
            self.replace_owner(owner);
        }
    }
}

/// The futures in a set that have not ended, the latest first. If the list changes while it is read, the result may end
/// early.
fn children(view: &TargetView<'_>, set: TypedValue) -> Vec<Child> {
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

/// The future of an entry of a set, unless the future has ended.
fn future_of(view: &TargetView<'_>, task: TypedValue) -> Option<TypedValue> {
    let future = view.unwrapped(view.member(task, "future")?);
    let (variant, contents) = view.variant_name(future)?;
    let future = view.member(contents, "__0")?;
    (variant == "Some").then_some(future)
}

/// The handles of the tasks in a `JoinSet` that have not been joined.
fn handles(view: &TargetView<'_>, lists: TypedValue) -> Vec<Child> {
    let mut handles = Vec::new();
    for list in ["notified", "idle"] {
        let list = view.member(lists, list);
        let mut next = list.and_then(|list| view.member(list, "head"));
        while let Some(link) = next
            && handles.len() <= MAX_CHILDREN
        {
            let Some(entry) = linked(view, link) else {
                break;
            };
            handles.extend(handle(view, entry));
            next = next_in_list(view, entry);
        }
    }
    handles
}

/// The entry that an `Option<NonNull<_>>` leads to.
fn linked(view: &TargetView<'_>, link: TypedValue) -> Option<TypedValue> {
    let (variant, contents) = view.variant_name(link)?;
    let pointer = view.member(contents, "__0").filter(|_| variant == "Some")?;
    view.target(view.unwrapped(pointer))
}

fn handle(view: &TargetView<'_>, entry: TypedValue) -> Option<Child> {
    let future = view.unwrapped(view.member(entry, "value")?);
    let waker_data = entry.address;
    Some(Child { future, waker_data })
}

fn next_in_list(view: &TargetView<'_>, entry: TypedValue) -> Option<TypedValue> {
    let pointers = view.member(view.member(entry, "pointers")?, "inner")?;
    view.member(view.unwrapped(pointers), "next")
}
