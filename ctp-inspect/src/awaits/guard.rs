//! Locks that a suspended future holds, by the guards among its variables.
//!
//! A variable that was moved elsewhere may still be in memory, so a guard counts only if it is certain that
//! it was not moved. Where a function may move a variable on some paths only, the compiler adds a drop flag,
//! a `bool` without a name. Where panics unwind, such paths exist for every guard that was borrowed and then
//! moved. So a guard holds its lock if panics unwind and no drop flag is false.

use std::rc::Rc;

use ctp_trace::record::{HeldLock, Resource};

use super::known::is_body;
use super::search::{find_first, owned};
use super::view::{Value, View, part};
use crate::types::TypeRef;
use crate::types::layout::{Kind, Member, Type};

/// How deep guards are nested at most.
const MAX_DEPTH: u32 = 8;

/// The locks that the variables of a suspended body hold.
pub(super) fn held_locks(
    view: &View<'_>,
    body: TypeRef,
    contents: Value,
    frame: u32,
) -> Vec<HeldLock> {
    let Some(variables) = variables(view, body, contents) else {
        return Vec::new();
    };
    if !has_guard(view, &variables) || !are_variables_present(view, contents) {
        return Vec::new();
    }
    let guarded = variables.iter().filter(|member| is_guarded(view, member));
    let held = guarded.flat_map(|member| held_by(view, contents, member, frame));
    let mut held: Vec<HeldLock> = held.collect();
    for lock in &mut held {
        lock.line = view.types.variable_line(body, &lock.variable);
    }
    held.dedup();
    held
}

/// Whether guards are among the variables of a program in which nothing says whether they were moved.
pub(super) fn are_guards_unknown(view: &View<'_>, body: TypeRef, contents: Value) -> bool {
    let does_unwind = view.types.does_unwind(contents.of) == Some(true);
    !does_unwind && variables(view, body, contents).is_some_and(|all| has_guard(view, &all))
}

fn variables(view: &View<'_>, body: TypeRef, contents: Value) -> Option<Rc<[Member]>> {
    view.variables(&*view.types.layout(body)?, contents.of)
}

fn has_guard(view: &View<'_>, variables: &[Member]) -> bool {
    variables.iter().any(|member| is_guarded(view, member))
}

/// Whether a variable may be a guard or contain one. The body has an account of its own of what it awaits.
fn is_guarded(view: &View<'_>, member: &Member) -> bool {
    member.name != "__awaitee" && may_have_guard(view, member.of, 0)
}

/// Whether a value of this type may be a guard or own one.
fn may_have_guard(view: &View<'_>, of: TypeRef, depth: u32) -> bool {
    if let Some(known) = view.facts.guards.borrow().get(&of) {
        return *known;
    }
    // A type that contains itself has no other guards.
    view.facts.guards.borrow_mut().insert(of, false);
    let layout = view.types.layout(of).filter(|_| depth < MAX_DEPTH);
    let is_guarded = layout.is_some_and(|layout| {
        let mut parts = owned_types(&layout).into_iter();
        is_guard(&layout) || parts.any(|part| may_have_guard(view, part, depth + 1))
    });
    view.facts.guards.borrow_mut().insert(of, is_guarded);
    is_guarded
}

/// The types of what a value of a type owns, without those inside futures.
fn owned_types(layout: &Type) -> Vec<TypeRef> {
    if is_body(&layout.path) {
        return Vec::new();
    }
    match &layout.kind {
        Kind::Struct(members) => members.iter().map(|member| member.of).collect(),
        Kind::Enum(of) => of
            .variants
            .iter()
            .map(|variant| variant.member.of)
            .collect(),
        Kind::Pointer(to) if layout.path == "alloc::boxed::Box" => to.iter().copied().collect(),
        _ => Vec::new(),
    }
}

fn is_guard(layout: &Type) -> bool {
    let name = layout.path.rsplit("::").next().unwrap_or_default();
    layout.path.starts_with("tokio::sync::")
        && (name.ends_with("Guard") || name.ends_with("SemaphorePermit"))
}

/// Whether it is certain that no variable was moved.
pub(super) fn are_variables_present(view: &View<'_>, contents: Value) -> bool {
    let Some(layout) = view.layout(contents) else {
        return false;
    };
    let mut flags = layout
        .members()
        .iter()
        .filter(|member| is_drop_flag(view, member));
    let does_unwind = view.types.does_unwind(contents.of) == Some(true);
    does_unwind
        && flags.all(|flag| part(contents, flag).and_then(|flag| view.number(flag)) == Some(1))
}

fn is_drop_flag(view: &View<'_>, member: &Member) -> bool {
    let is_unnamed = member.name.starts_with("__") && member.name != "__awaitee";
    is_unnamed
        && view
            .types
            .layout(member.of)
            .is_some_and(|of| of.name == "bool")
}

/// The locks of the guards that a variable is or owns.
fn held_by(view: &View<'_>, contents: Value, member: &Member, frame: u32) -> Vec<HeldLock> {
    let guards = part(contents, member).and_then(|variable| owned(view, variable, &is_guard));
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

/// The lock of a guard, and whether only this guard holds it. `None` if the lock is free, which a guard that
/// was moved would leave behind.
fn lock_of(view: &View<'_>, guard: Value) -> Option<(Resource, bool)> {
    let path = view.path(guard);
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

/// The semaphore inside the lock of a guard.
fn semaphore_of(view: &View<'_>, guard: Value) -> Option<Value> {
    let owner = ["s", "lock", "sem"]
        .iter()
        .find_map(|name| view.member(guard, name))?;
    find_first(view, view.target(owner)?, "::batch_semaphore::Semaphore", 0)
}

/// The free permits. The lowest bit says that the semaphore is closed.
fn permits(view: &View<'_>, semaphore: Value) -> Option<u64> {
    let permits = view.number(view.member(semaphore, "permits")?)?;
    Some(permits >> 1)
}
