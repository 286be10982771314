//! Finds the channels and locks that only the waiting task itself can use: those that lie in the task's future, or in an
//! `Arc` all of whose handles are in that future.

use ctp_trace::record::Resource;

use super::search::owned_of;
use super::view::{TargetView, TypedValue};
use super::{Handles, RegisteredWaker};

/// Marks the wakers in locks and channels that only the task itself can use. Marks no wakers if any of them is in
/// another kind of resource. If variables may have been moved away, handles may have been moved too.
pub(super) fn mark_own(
    view: &TargetView<'_>,
    future: TypedValue,
    may_have_moved: bool,
    wakers: &mut [RegisteredWaker],
) {
    let places: Option<Vec<u64>> = wakers.iter().map(|waker| address(waker.resource)).collect();
    let Some(places) = places.filter(|places| !places.is_empty()) else {
        return;
    };
    let Some(counted) = owned_of(view, future, "alloc::sync::Arc") else {
        return;
    };
    for (waker, at) in wakers.iter_mut().zip(places) {
        let handles = handles_of(view, &counted, at);
        let is_only_handle = !may_have_moved && is_only_handle(view, &handles);
        waker.is_own = is_within(view, future, at) || is_only_handle;
        if !waker.is_own {
            waker.own_if_unshared = all_handles(view, &handles)
                .filter(|_| !may_have_moved)
                .or_else(|| own_oneshot(view, future, &handles));
        }
    }
}

/// The address of a lock or channel.
fn address(resource: Resource) -> Option<u64> {
    match resource {
        Resource::Mutex(at)
        | Resource::RwLock(at)
        | Resource::Semaphore(at)
        | Resource::Channel(at)
        | Resource::Room(at)
        | Resource::Notify(at) => Some(at),
        _ => None,
    }
}

fn is_within(view: &TargetView<'_>, value: TypedValue, at: u64) -> bool {
    let size = view.layout(value).map_or(0, |of| of.size);
    at.checked_sub(value.address)
        .is_some_and(|offset| offset < size)
}

/// Whether there is a single `Arc`, which is the only handle of its value.
fn is_only_handle(view: &TargetView<'_>, handles: &[TypedValue]) -> bool {
    match handles {
        [only] => strong_count(view, *only) == Some(1),
        _ => false,
    }
}

/// The addresses of these `Arc`s of a value, if their number equals the value's strong count. Some of them may only be
/// the bytes that a moved `Arc` has left behind; the `Arc` itself is then elsewhere.
fn all_handles(view: &TargetView<'_>, handles: &[TypedValue]) -> Option<Handles> {
    let first = *handles.first()?;
    let is_all = strong_count(view, first)? == handles.len() as u64;
    is_all.then(|| handles_at(view, first, handles)).flatten()
}

/// The handles of a oneshot channel, if the future seems to own both the sender and the receiver. The receiver may have
/// been moved, so that only its bytes are left.
fn own_oneshot(
    view: &TargetView<'_>,
    future: TypedValue,
    handles: &[TypedValue],
) -> Option<Handles> {
    let senders = owned_of(view, future, "tokio::sync::oneshot::Sender")?;
    let of_senders = handles.iter().filter(|handle| {
        senders
            .iter()
            .any(|sender| is_within(view, *sender, handle.address))
    });
    let has_sender = of_senders.count() == 1;
    let first = *handles.first()?;
    let is_pair = has_sender && strong_count(view, first)? == 2;
    is_pair.then(|| handles_at(view, first, handles)).flatten()
}

/// The addresses of these handles, with the memory of the value that the first handle leads to.
fn handles_at(view: &TargetView<'_>, first: TypedValue, handles: &[TypedValue]) -> Option<Handles> {
    let counts = counts_of(view, first)?;
    let end = counts.address.checked_add(view.layout(counts)?.size)?;
    Some(Handles {
        value: counts.address..end,
        at: handles.iter().map(|handle| handle.address).collect(),
    })
}

/// Those of the `Arc`s in `counted` that lead to the value around an address.
fn handles_of(view: &TargetView<'_>, counted: &[TypedValue], at: u64) -> Vec<TypedValue> {
    let handles = counted.iter().filter(|handle| {
        let target = view.target(**handle);
        target.is_some_and(|target| is_within(view, target, at))
    });
    handles.copied().collect()
}

fn strong_count(view: &TargetView<'_>, handle: TypedValue) -> Option<u64> {
    view.number(view.member(counts_of(view, handle)?, "strong")?)
}

fn counts_of(view: &TargetView<'_>, handle: TypedValue) -> Option<TypedValue> {
    view.target(view.unwrapped(view.member(handle, "ptr")?))
}
