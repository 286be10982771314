//! Whether futures of unknown types have registered a waker, found by counting all wakers of the task.
//!
//! A future may register its waker anywhere, such as in a static variable. So a future certainly has no waker only if
//! every waker of the task is found elsewhere, and nothing that the future leads to contains a waker.

use ctp_trace::record::{TaskId, TaskWait};

use super::view::{TargetView, TypedValue};
use super::waker::WakerOwner;
use super::wakers::{FoundWakers, WakerSearch};

/// The futures of a task, by how their wakers are found.
#[derive(Debug, Default)]
pub(super) struct FutureCounts {
    /// The futures that are known to exist, except the bodies of async functions. They include the innermost futures.
    owners: Vec<TypedValue>,
    /// The innermost futures, each with the index of its wait.
    leaves: Vec<(usize, TypedValue)>,
    /// The innermost futures for which it is not known yet whether they have a waker, each with the index of its wait.
    open: Vec<(usize, TypedValue)>,
}

impl FutureCounts {
    /// Adds a future which is known to exist, and is not the body of an async function.
    pub(super) fn add_owner(&mut self, future: TypedValue) {
        self.owners.push(future);
    }

    /// Adds an innermost future that has been polled, and the index of its wait.
    pub(super) fn add_open(&mut self, wait: usize, future: TypedValue) {
        self.open.push((wait, future));
    }

    /// Adds an innermost future, and the index of its wait.
    pub(super) fn add_leaf(&mut self, wait: usize, future: TypedValue) {
        self.leaves.push((wait, future));
    }

    /// The number of wakers that innermost futures have registered where no search finds them. For example, the waker
    /// of a future that joins a task lies in that task.
    fn hidden<'s>(&self, waits: &[TaskWait], search: &dyn Fn() -> WakerSearch<'s>) -> usize {
        let leaves = self.leaves.iter().filter(|(wait, future)| {
            let has_waker = waits
                .get(*wait)
                .is_some_and(|wait| wait.has_waker == Some(true));
            has_waker && search().run([*future]).wakers.is_empty()
        });
        leaves.count()
    }

    /// Completes the waits for which it is not known yet whether they have a waker of this owner. `wakers` is an upper
    /// limit of the number of its wakers. For a thread, that is unknown.
    pub(super) fn settle(
        self,
        view: &TargetView<'_>,
        (owner, wakers): (WakerOwner, Option<u32>),
        tasks: &dyn Fn(u64) -> Option<TaskId>,
        waits: &mut [TaskWait],
    ) {
        if self.open.is_empty() {
            return;
        }
        let search = || WakerSearch::new(view, owner, tasks);
        let of_open = self.open.iter();
        let of_open: Vec<_> = of_open
            .map(|(wait, future)| (*wait, search().run([*future])))
            .collect();
        let elsewhere = search().run(self.owners.iter().copied()).wakers;
        let hidden = self.hidden(waits, &search);
        let found = u32::try_from(elsewhere.len() + hidden).ok();
        let is_complete = found.is_some() && wakers == found;
        for (wait, found) in of_open {
            if let Some(wait) = waits.get_mut(wait) {
                wait.has_waker = has_waker(&found, is_complete);
            }
        }
    }
}

fn has_waker(found: &FoundWakers, is_complete: bool) -> Option<bool> {
    if !found.wakers.is_empty() {
        return Some(true);
    }
    let is_without = is_complete && !found.is_cut;
    is_without.then_some(false)
}
