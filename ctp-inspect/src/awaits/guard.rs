//! Finds the locks that a suspended future holds, from the guards among its variables, and the channels of which the
//! future has the only receiver.
//!
//! The bytes of a variable stay in memory after the variable was moved. So a guard counts only if it was certainly not
//! moved. If a function moves a variable on some of its paths only, the compiler adds a drop flag, a `bool` without a
//! name. If panics unwind, such paths exist for every guard that was borrowed and then moved. So a guard holds its lock
//! if panics unwind and no drop flag is false.

mod smol_guard;

use std::rc::Rc;

use ctp_trace::record::{HeldLock, Resource};

use super::known::is_body;
use super::search::{find_first, owned};
use super::view::{TargetView, TypedValue, part};
use crate::types::TypeRef;
use crate::types::layout::{Member, Type, TypeKind};

/// What a value of a type may own, from the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owned {
    /// Neither guards nor receivers.
    #[default]
    Nothing,
    /// Receivers, but no guards.
    Receivers,
    /// Guards of locks.
    Guards,
}

/// The maximum depth at which guards are searched for in a type.
const MAX_DEPTH: u32 = 8;

/// The locks and channels that the variables of a suspended body hold. `frame` is the index of the body's frame.
pub(super) fn held_locks(
    view: &TargetView<'_>,
    body: TypeRef,
    contents: TypedValue,
    frame: u32,
) -> Vec<HeldLock> {
    let Some(variables) = variables(view, body, contents) else {
        return Vec::new();
    };
    if owned_by_any(view, &variables) == Owned::Nothing {
        return Vec::new();
    }
    let are_present = are_variables_present(view, contents);
    if !are_present && !may_lack_senders_only(view, contents, &variables) {
        return Vec::new();
    }
    let guarded = variables.iter().filter(|member| {
        let owned = owned_by(view, member);
        owned == Owned::Receivers || owned == Owned::Guards && are_present
    });
    let held = guarded.flat_map(|member| held_by(view, contents, member, frame));
    let mut held: Vec<HeldLock> = held.collect();
    for lock in &mut held {
        lock.line = view.types.variable_line(body, &lock.variable);
    }
    held.dedup();
    held
}

/// Whether the variables may own guards, of which it is unknown whether they were moved: panics are not known to unwind.
pub(super) fn are_guards_unknown(
    view: &TargetView<'_>,
    body: TypeRef,
    contents: TypedValue,
) -> bool {
    let does_unwind = view.types.does_unwind(contents.of) == Some(true);
    !does_unwind
        && variables(view, body, contents)
            .is_some_and(|all| owned_by_any(view, &all) == Owned::Guards)
}

fn variables(view: &TargetView<'_>, body: TypeRef, contents: TypedValue) -> Option<Rc<[Member]>> {
    view.variables(&*view.types.layout(body)?, contents.of)
}

fn owned_by_any(view: &TargetView<'_>, variables: &[Member]) -> Owned {
    let owned = variables.iter().map(|member| owned_by(view, member));
    owned.max().unwrap_or_default()
}

/// What a variable may be or own. The awaited future counts as nothing, because its variables are examined separately.
fn owned_by(view: &TargetView<'_>, member: &Member) -> Owned {
    if member.name == "__awaitee" {
        return Owned::Nothing;
    }
    owned_by_type(view, member.of, 0)
}

/// What a value of this type may be or own.
fn owned_by_type(view: &TargetView<'_>, of: TypeRef, depth: u32) -> Owned {
    if let Some(known) = view.facts.owned.borrow().get(&of) {
        return *known;
    }
    // Ends the recursion for a type that contains itself: the inner value adds nothing.
    view.facts.owned.borrow_mut().insert(of, Owned::Nothing);
    let layout = view.types.layout(of).filter(|_| depth < MAX_DEPTH);
    let owned = layout.map_or(Owned::Nothing, |layout| {
        let parts = owned_types(&layout).into_iter();
        let parts = parts.map(|part| owned_by_type(view, part, depth + 1));
        parts.fold(kind_of(&layout), Owned::max)
    });
    view.facts.owned.borrow_mut().insert(of, owned);
    owned
}

/// The types of the parts that a value of this type owns. Empty for the body of an async function.
fn owned_types(layout: &Type) -> Vec<TypeRef> {
    if is_body(&layout.path) {
        return Vec::new();
    }
    match &layout.kind {
        TypeKind::Struct(members) => members.iter().map(|member| member.of).collect(),
        TypeKind::Enum(of) => of
            .variants
            .iter()
            .map(|variant| variant.member.of)
            .collect(),
        TypeKind::Pointer(to) if layout.path == "alloc::boxed::Box" => to.iter().copied().collect(),
        _ => Vec::new(),
    }
}

/// The receiver of a channel with limited room.
const RECEIVER: &str = "tokio::sync::mpsc::bounded::Receiver";
const SENDER: &str = "tokio::sync::mpsc::bounded::Sender";
/// The beginning of the paths of guards of smol's locks.
const SMOL: &str = "async_lock::";

/// What a value of this type is, apart from its parts.
fn kind_of(layout: &Type) -> Owned {
    let name = layout.path.rsplit("::").next().unwrap_or_default();
    let is_guard = ["Guard", "GuardArc", "SemaphorePermit"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_known = layout.path.starts_with("tokio::sync::") || layout.path.starts_with(SMOL);
    if layout.path == RECEIVER {
        Owned::Receivers
    } else if is_guard && is_known {
        Owned::Guards
    } else {
        Owned::Nothing
    }
}

/// Whether a type is a guard or a receiver. A receiver is treated as a guard, because senders wait for room in its
/// channel as coroutines wait for the lock of a guard.
fn is_guard_or_receiver(layout: &Type) -> bool {
    kind_of(layout) != Owned::Nothing
}

/// Whether it is certain that no variable was moved.
pub(super) fn are_variables_present(view: &TargetView<'_>, contents: TypedValue) -> bool {
    moved_count(view, contents) == Some(0)
}

/// Whether at most as many variables were moved as there are senders, so that the moved variables may be senders only. A
/// program usually drops its own sender before it reads from a channel, to learn when all others are dropped.
fn may_lack_senders_only(
    view: &TargetView<'_>,
    contents: TypedValue,
    variables: &[Member],
) -> bool {
    let layouts = variables
        .iter()
        .filter_map(|member| view.types.layout(member.of));
    let senders = layouts.filter(|layout| layout.path == SENDER).count();
    moved_count(view, contents).is_some_and(|moved| moved <= senders)
}

/// The number of variables that were moved; `None` if unknown.
fn moved_count(view: &TargetView<'_>, contents: TypedValue) -> Option<usize> {
    let layout = view.layout(contents)?;
    let members = layout.members().iter();
    let flags = members.filter(|member| is_drop_flag(view, member));
    let does_unwind = view.types.does_unwind(contents.of) == Some(true);
    let mut moved = 0;
    for flag in flags {
        match view.number(part(contents, flag)?)? {
            0 => moved += 1,
            1 => {}
            _ => return None,
        }
    }
    does_unwind.then_some(moved)
}

fn is_drop_flag(view: &TargetView<'_>, member: &Member) -> bool {
    let is_unnamed = member.name.starts_with("__") && member.name != "__awaitee";
    is_unnamed
        && view
            .types
            .layout(member.of)
            .is_some_and(|of| of.name == "bool")
}

/// The locks of the guards that a variable is or owns.
fn held_by(
    view: &TargetView<'_>,
    contents: TypedValue,
    member: &Member,
    frame: u32,
) -> Vec<HeldLock> {
    let guards =
        part(contents, member).and_then(|variable| owned(view, variable, &is_guard_or_receiver));
    let locks = guards.unwrap_or_default().into_iter();
    let locks = locks.filter_map(|guard| lock_of(view, guard));
    let held = locks.map(|(resource, is_exclusive)| HeldLock {
        resource,
        is_exclusive,
        frame,
        variable: variable_name(member).to_owned(),
        line: 0,
    });
    held.collect()
}

/// Temporary values have a number instead of a name.
fn variable_name(member: &Member) -> &str {
    if member.name.starts_with("__") {
        "(temporary)"
    } else {
        &member.name
    }
}

/// The lock of a guard or the room of a receiver, and whether it is held exclusively. `None` if the lock is free: then
/// the guard was moved away, and only its bytes are left.
fn lock_of(view: &TargetView<'_>, guard: TypedValue) -> Option<(Resource, bool)> {
    let path = view.path(guard);
    if path == RECEIVER {
        return room_of(view, guard);
    }
    if path.starts_with(SMOL) {
        return smol_guard::lock_of(view, guard, &path);
    }
    let name = path.strip_prefix("tokio::sync::")?.rsplit("::").next()?;
    let semaphore = semaphore_of(view, guard)?;
    let permits = permits(view, semaphore)?;
    let address = semaphore.address;
    match name {
        "MutexGuard" | "OwnedMutexGuard" | "MappedMutexGuard" | "OwnedMappedMutexGuard" => {
            (permits == 0).then_some((Resource::Mutex(address), true))
        }
        "RwLockWriteGuard"
        | "OwnedRwLockWriteGuard"
        | "RwLockMappedWriteGuard"
        | "OwnedRwLockMappedWriteGuard" => {
            (permits == 0).then_some((Resource::RwLock(address), true))
        }
        "RwLockReadGuard" | "OwnedRwLockReadGuard" => Some((Resource::RwLock(address), false)),
        "SemaphorePermit" | "OwnedSemaphorePermit" => Some((Resource::Semaphore(address), false)),
        _ => None,
    }
}

/// The room in the channel of a receiver. A receiver does not hold the room exclusively: senders may give back room
/// that they have reserved.
fn room_of(view: &TargetView<'_>, receiver: TypedValue) -> Option<(Resource, bool)> {
    let half = view.member(receiver, "chan")?;
    let channel = view.target(view.member(half, "inner")?)?;
    Some((Resource::Room(channel.address), false))
}

/// The semaphore inside the lock of a guard.
fn semaphore_of(view: &TargetView<'_>, guard: TypedValue) -> Option<TypedValue> {
    let owner = ["s", "lock", "sem"]
        .iter()
        .find_map(|name| view.member(guard, name))?;
    find_first(view, view.target(owner)?, "::batch_semaphore::Semaphore", 0)
}

/// The number of free permits, without the lowest bit of the value, which says that the semaphore is closed.
fn permits(view: &TargetView<'_>, semaphore: TypedValue) -> Option<u64> {
    let permits = view.number(view.member(semaphore, "permits")?)?;
    Some(permits >> 1)
}
