//! [`LeafReader`]: reads what an innermost future waits for, and whether the future has registered a waker.

mod io;
mod smol;

use std::collections::HashMap;

use ctp_trace::record::Nanos;
use ctp_trace::record::{Resource, TaskId};

use super::known::{LeafType, SmolLeaf};
use super::search::{find, find_first};
use super::view::{TargetView, TypedValue};
use super::waker::{Registered, WakerOwner, atomic_waker, registered_waker};
use crate::async_task::header::{AWAITER_OFFSET, STATE_OFFSET};
use crate::async_task::state::StateWord;

/// What a future waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Awaited {
    pub(super) resource: Resource,
    /// The waker of the task; `None` if unknown.
    pub(super) waker: Option<Registered>,
    pub(super) always_registers: bool,
}

impl Awaited {
    pub(super) fn unknown() -> Self {
        Self::default()
    }

    /// For futures that register a waker whenever they wait.
    pub(super) fn registered(resource: Option<Resource>, waker: Option<Registered>) -> Self {
        Self {
            resource: resource.unwrap_or_default(),
            waker,
            always_registers: true,
        }
    }

    /// Whether the future has registered a waker of the task; `None` if unknown.
    pub(super) fn has_waker(&self) -> Option<bool> {
        self.waker.map(Registered::is_some)
    }
}

/// Reads an innermost future.
pub(super) struct LeafReader<'l> {
    pub(super) view: &'l TargetView<'l>,
    /// What the wakers of the future lead to.
    pub(super) owner: WakerOwner,
    pub(super) tasks: &'l dyn Fn(u64) -> Option<TaskId>,
    /// The descriptors that are watched by epoll, by the registered value.
    pub(super) descriptors: &'l HashMap<u64, u32>,
    /// The contents of the bodies around the future, outermost first, with their depths.
    pub(super) around: &'l [(u32, TypedValue)],
}

/// The bit of a task's state that says that its `JoinHandle` has registered a waker.
const JOIN_WAKER: u64 = 16;
/// The bit of a oneshot channel's state that says that the receiver has registered a waker.
const RX_TASK_SET: u64 = 1;

/// The waker that a `JoinHandle` has registered in an awaited task with this state.
fn join_waker(state: u64) -> Registered {
    if state & JOIN_WAKER == 0 {
        Registered::No
    } else {
        Registered::Somewhere
    }
}

impl LeafReader<'_> {
    /// Whether a future is known to wait forever.
    pub(super) fn waits_forever(&self, future: TypedValue, leaf: LeafType) -> bool {
        match leaf {
            LeafType::Forever => true,
            LeafType::Smol(SmolLeaf::Timer) => self.is_endless_timer(future),
            _ => false,
        }
    }

    pub(super) fn read(&self, future: TypedValue, leaf: LeafType) -> Awaited {
        match leaf {
            LeafType::Sleep => self.sleep(future),
            LeafType::Acquire => self.acquire(future),
            LeafType::Oneshot => self.oneshot(future),
            LeafType::Notified => self.notified(future),
            LeafType::Broadcast => self.broadcast(future),
            LeafType::Receive => self.receive(future),
            LeafType::Next => self.next(future),
            LeafType::JoinHandle => self.join_handle(future),
            LeafType::Task => self.task(future),
            LeafType::Smol(leaf) => self.smol(future, leaf),
            LeafType::Readiness => self.readiness(future),
            LeafType::Io(direction) => self.operation(future, direction),
            LeafType::Forever | LeafType::Other => Awaited::unknown(),
        }
    }

    fn sleep(&self, sleep: TypedValue) -> Awaited {
        let deadline = self.deadline(sleep).map(Resource::Timer);
        let waker = atomic_waker(self.view, sleep, self.owner);
        Awaited::registered(deadline, waker)
    }

    /// The deadline of a timer in `CLOCK_MONOTONIC`.
    fn deadline(&self, sleep: TypedValue) -> Option<Nanos> {
        // The place differs between versions of tokio.
        let outer = ["inner", "entry"].map(|name| self.view.member(sleep, name));
        let deadline = [Some(sleep)]
            .into_iter()
            .chain(outer)
            .flatten()
            .find_map(|value| self.view.member(value, "deadline"))?;
        self.instant(deadline)
    }

    /// The time of an `Instant`, or of a type around it, in `CLOCK_MONOTONIC`.
    fn instant(&self, instant: TypedValue) -> Option<Nanos> {
        let deadlines = find(self.view, instant, "::Timespec", 0)?;
        let &[deadline] = deadlines.as_slice() else {
            return None;
        };
        let seconds = self.view.number(self.view.member(deadline, "tv_sec")?)?;
        let nanos = self.view.number(self.view.member(deadline, "tv_nsec")?)?;
        let whole = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
        Some(Nanos(whole))
    }

    /// The lock or channel with the awaited semaphore. A lock is identified by the address of its semaphore.
    fn acquire(&self, acquire: TypedValue) -> Awaited {
        let waker = self.node_waker(acquire, "node");
        Awaited::registered(self.semaphore(acquire), waker)
    }

    fn semaphore(&self, acquire: TypedValue) -> Option<Resource> {
        let semaphore = self
            .view
            .target(self.view.member(acquire, "semaphore")?)?
            .address;
        let Some((_, body)) = self.around.last() else {
            return Some(Resource::Semaphore(semaphore));
        };
        let path = self.view.path(*body);
        if path.starts_with("tokio::sync::mutex::") {
            Some(Resource::Mutex(semaphore))
        } else if path.starts_with("tokio::sync::rwlock::") {
            Some(Resource::RwLock(semaphore))
        } else if path.starts_with("tokio::sync::mpsc::") {
            let channel = self.channel("tokio::sync::mpsc::chan::Tx");
            channel.map(Resource::Room)
        } else {
            Some(Resource::Semaphore(semaphore))
        }
    }

    /// The channel to which the bodies around the future have a handle of this type.
    fn channel(&self, handle: &str) -> Option<u64> {
        let mut bodies = self.around.iter().rev();
        let handle = bodies.find_map(|(_, body)| find_first(self.view, *body, handle, 3))?;
        self.shared(handle, "inner")
    }

    /// The address of the value of the `Arc` in a member.
    fn shared(&self, value: TypedValue, member: &str) -> Option<u64> {
        let shared = self.view.target(self.view.member(value, member)?)?;
        Some(shared.address)
    }

    fn node_waker(&self, future: TypedValue, node: &str) -> Option<Registered> {
        let node = self.view.member(future, node)?;
        let node = self.view.unwrapped(node);
        registered_waker(self.view, self.view.member(node, "waker")?, self.owner)
    }

    fn oneshot(&self, receiver: TypedValue) -> Awaited {
        let inner = self.view.member(receiver, "inner");
        let present = inner.and_then(|inner| self.view.variant_name(inner));
        let Some((_, some)) = present.filter(|(state, _)| state == "Some") else {
            return Awaited::unknown();
        };
        let channel = self.shared_value(some, "__0");
        let resource = channel.map(|channel| Resource::Channel(channel.address));
        let waker = channel.and_then(|channel| self.oneshot_waker(channel));
        Awaited::registered(resource, waker)
    }

    /// The value of the `Arc` in a member.
    fn shared_value(&self, value: TypedValue, member: &str) -> Option<TypedValue> {
        self.view.target(self.view.member(value, member)?)
    }

    fn oneshot_waker(&self, channel: TypedValue) -> Option<Registered> {
        let state = self.view.number(self.view.member(channel, "state")?)?;
        if state & RX_TASK_SET == 0 {
            return Some(Registered::No);
        }
        registered_waker(self.view, self.view.member(channel, "rx_task")?, self.owner)
    }

    fn notified(&self, notified: TypedValue) -> Awaited {
        let notify = self.shared(notified, "notify");
        let body = self.around.last().map(|(_, body)| self.view.path(*body));
        let is_watch = body.is_some_and(|path| path.starts_with("tokio::sync::watch::"));
        let resource = notify.map(|notify| {
            if is_watch {
                Resource::Channel(notify)
            } else {
                Resource::Notify(notify)
            }
        });
        Awaited::registered(resource, self.node_waker(notified, "waiter"))
    }

    fn broadcast(&self, recv: TypedValue) -> Awaited {
        let receiver = self.shared_value(recv, "receiver");
        let channel = receiver.and_then(|receiver| self.shared(receiver, "shared"));
        let waiter = find_first(self.view, recv, "::broadcast::Waiter", 0);
        let waker = waiter.and_then(|waiter| {
            registered_waker(self.view, self.view.member(waiter, "waker")?, self.owner)
        });
        Awaited::registered(channel.map(Resource::Channel), waker)
    }

    /// The next element of a stream. The awaited channel is known only if the stream has a single channel, and the waker
    /// is registered there.
    fn next(&self, next: TypedValue) -> Awaited {
        let receivers = find(self.view, next, "::mpsc::chan::Rx", 4);
        if receivers.is_none_or(|receivers| receivers.len() != 1) {
            return Awaited::unknown();
        }
        let found = self.receive(next);
        if found.has_waker() == Some(true) {
            found
        } else {
            Awaited::unknown()
        }
    }

    /// `recv` of an mpsc channel.
    fn receive(&self, closure: TypedValue) -> Awaited {
        let receiver = find_first(self.view, closure, "::mpsc::chan::Rx", 4);
        let channel = receiver.and_then(|receiver| self.shared_value(receiver, "inner"));
        let waker = channel.and_then(|channel| self.view.member(channel, "rx_waker"));
        let waker = waker.and_then(|waker| atomic_waker(self.view, waker, self.owner));
        let resource = channel.map(|channel| Resource::Channel(channel.address));
        Awaited::registered(resource, waker)
    }

    /// Only the task that owns the handle polls the handle, so the bit [`JOIN_WAKER`] is about a waker of this task.
    fn join_handle(&self, handle: TypedValue) -> Awaited {
        let raw = self.view.member(handle, "raw");
        let header = raw.and_then(|raw| self.view.number(raw));
        let state = header.and_then(|header| self.view.pages.word(header));
        let task = header.and_then(self.tasks).map(Resource::Task);
        Awaited::registered(task, state.map(join_waker))
    }

    /// The handle of a task of async-task. The awaited task has the waker, unless the task has ended.
    fn task(&self, handle: TypedValue) -> Awaited {
        let pointer = self.view.member(handle, "ptr");
        let header = pointer.and_then(|pointer| self.view.number(pointer));
        let task = header.and_then(self.tasks).map(Resource::Task);
        let waker = header.and_then(|header| self.awaiter_waker(header));
        Awaited::registered(task, waker)
    }

    /// The waker of this reader's owner that a task of async-task keeps, to wake the owner when the task ends. `None`
    /// while the waker is replaced.
    fn awaiter_waker(&self, header: u64) -> Option<Registered> {
        let word = |offset| self.view.pages.word(header.checked_add(offset)?);
        if !StateWord(word(STATE_OFFSET)?).has_awaiter()? {
            return Some(Registered::No);
        }
        for offset in [AWAITER_OFFSET, AWAITER_OFFSET + 8] {
            if self.owner.is_woken_by(word(offset)?) {
                return Some(Registered::At(header + offset));
            }
        }
        None
    }
}
