//! Traces the tasks of [embassy](https://embassy.dev)'s executor, through its trace hooks.
//!
//! The executor calls a hook at each step of a task, and names the task and the executor by numbers.
//! A number belongs to a task from `task_new` to `task_end`; the next task in the same storage has
//! the same number. [`embassy!`](crate::embassy!) defines the hooks; this module turns each call into
//! an event.
//!
//! ```text
//!   task_new ─> birth    task_exec_begin ─> run        task_ready_begin ─> wake, from any context
//!   task_end ─> death    task_exec_end ─> suspend
//! ```
//! At any time, a single executor calls the hooks of a task. Wakes may come from any context. Neither the
//! table nor an event needs a lock or an allocation.

mod hooks;
mod task;
mod traced_wait;

use core::future::Future;
use core::marker::PhantomData;
use core::panic::Location;

use crate::handle::coroutine::Coroutine;
use crate::handle::{Kind, MemoryOf};
use crate::memory::alloc;
use crate::memory::layout::{Compact, Full, Layout};
use crate::platform::{Platform, Probe, ProbeLayout};
use crate::protocol::wait::Wait;
use crate::sync::Ordering;
use task::Task;
pub use traced_wait::TracedWait;

/// The memory of a program on embassy: a [`Memory`](crate::Memory), and the table of the tasks in its
/// stations. Define a static of this type with [`embassy!`](crate::embassy!).
///
/// `P` is the platform: the clock, and the `Local` of each core. The memory has room for `STATIONS`
/// tasks, and for `ENTRIES` lines and as many names. A new task takes a station that no task has had.
/// If there is none, it takes the station of a task that has ended. A task in the storage of a task
/// that has ended always takes that task's station.
#[repr(C)] // a dump of the static begins with the memory
pub struct Embassy<P, const STATIONS: usize, const ENTRIES: usize = 16, L: Layout = Full> {
    memory: MemoryOf<L, STATIONS, ENTRIES>,
    /// The task in each station.
    tasks: [Task; STATIONS],
    platform: PhantomData<fn() -> P>,
}

/// Like [`Embassy`], with a [`CompactMemory`](crate::CompactMemory): 256 bytes a task instead of 1 KiB.
pub type CompactEmbassy<P, const STATIONS: usize, const ENTRIES: usize = 8> =
    Embassy<P, STATIONS, ENTRIES, Compact>;

impl<P, const STATIONS: usize, const ENTRIES: usize, L: Layout> core::fmt::Debug
    for Embassy<P, STATIONS, ENTRIES, L>
{
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.debug_struct("Embassy")
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl<P: Platform, const STATIONS: usize, const ENTRIES: usize, L: ProbeLayout> Default
    for Embassy<P, STATIONS, ENTRIES, L>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, const STATIONS: usize, const ENTRIES: usize, L: ProbeLayout>
    Embassy<P, STATIONS, ENTRIES, L>
{
    /// Creates memory that is ready for use, at compile time.
    pub const fn new() -> Self {
        Self::with_memory(MemoryOf::new())
    }

    /// Uses this memory, for example a memory [with
    /// aggregates](crate::Memory::with_aggregates).
    pub const fn with_memory(memory: MemoryOf<L, STATIONS, ENTRIES>) -> Self {
        Embassy {
            memory,
            tasks: [const { Task::new() }; STATIONS],
            platform: PhantomData,
        }
    }

    /// The probe of this memory, for everything that the hooks do not record.
    pub fn probe(&'static self) -> Probe<P, L> {
        self.memory.probe()
    }

    /// The address and size in bytes of the memory to dump.
    pub const fn extent(&'static self) -> (*const u8, usize) {
        self.memory.extent()
    }

    /// Names the task with this number, which is the `id()` of its `SpawnToken`. The caller is the
    /// spawn site. Call this before the task is spawned. Later tasks in the same storage have the same
    /// name.
    #[track_caller]
    pub fn name(&'static self, task: u32, name: &str) {
        let site = self.probe().site(Location::caller());
        self.set_name(task, name, site.interned());
    }

    /// Awaits `future`, with the caller as the site of the wait. Without this call, or a call of
    /// [`waits_for`](Probe::waits_for) in the future itself, the line where a task waits is not known.
    ///
    /// ```ignore
    /// let frame = CTP.traced(FRAMES.receive()).await;
    /// ```
    #[track_caller]
    pub fn traced<F: Future>(&'static self, future: F) -> TracedWait<P, F, STATIONS, ENTRIES, L> {
        self.traced_as(Wait::unknown(), future)
    }

    /// Like [`traced`](Self::traced), and records what the task waits for.
    pub fn traced_as<F: Future>(
        &'static self,
        wait: Wait,
        future: F,
    ) -> TracedWait<P, F, STATIONS, ENTRIES, L> {
        TracedWait::new(self, wait, future)
    }

    /// The hook `task_name_set`: names a task without a spawn site.
    #[doc(hidden)]
    pub fn task_name_set(&'static self, task: u32, name: &str) {
        self.set_name(task, name, 0);
    }

    /// The hook `task_new`: a task is spawned.
    #[doc(hidden)]
    pub fn task_new(&'static self, task: u32) {
        let Some(index) = self.station_for(task) else {
            return;
        };
        let entry = &self.tasks[index as usize];
        // The previous task in this storage has ended without a `task_end`. The hook is called later, or
        // never, as with embassy-executor 0.7.
        if entry.is_alive() {
            entry.expect_outdated_hooks();
            self.record_death(index);
        }
        let trace = self.probe().move_in(index, Kind::Future, entry.name());
        trace.waker(); // from now on the wakes are known
        entry.begin(trace.into_progress());
    }

    /// The hook `task_end`: a task has ended. Its storage is free already, and may have a new task.
    #[doc(hidden)]
    pub fn task_end(&'static self, executor: u32, task: u32) {
        let Some(index) = self.find(task) else { return };
        let entry = &self.tasks[index as usize];
        if entry.is_alive() && !entry.is_outdated(executor) {
            self.record_death(index);
            entry.end();
        }
    }

    /// The hook `task_exec_begin`: a poll begins. Also called for a task that ended while it was
    /// queued, which is not polled.
    #[doc(hidden)]
    pub fn task_exec_begin(&'static self, executor: u32, task: u32) {
        let Some(index) = self.find(task) else { return };
        let entry = &self.tasks[index as usize];
        if entry.is_alive() {
            let trace = self.trace(index);
            trace.run();
            entry.run_on(executor, trace.into_progress());
        }
    }

    /// The hook `task_exec_end`: a poll ends. Also called after the end of the task.
    #[doc(hidden)]
    pub fn task_exec_end(&'static self, executor: u32, task: u32) {
        let Some(index) = self.find(task) else { return };
        let entry = &self.tasks[index as usize];
        if !entry.take_outdated(executor) && entry.is_running() {
            let trace = self.trace(index);
            trace.suspend_announced();
            entry.suspend(trace.into_progress());
        }
    }

    /// The hook `task_ready_begin`: a task is about to be queued. Called in any context, also in
    /// interrupt handlers and critical sections.
    #[doc(hidden)]
    pub fn task_ready_begin(&'static self, task: u32) {
        let Some(index) = self.find(task) else { return };
        if self.tasks[index as usize].is_alive() {
            self.probe().waker_of(index).wake();
        }
    }

    fn set_name(&'static self, task: u32, name: &str, site: u32) {
        let Some(index) = self.station_for(task) else {
            return;
        };
        let id = self.probe().name_at(name, site);
        let entry = &self.tasks[index as usize];
        entry.set_name(id);
        let station = self.probe().region.stations.get(index as usize);
        if let Some(station) = station.filter(|_| entry.is_alive()) {
            station.meta.store(id, Ordering::Relaxed);
        }
    }

    /// Records the death of a living task.
    fn record_death(&'static self, index: u32) {
        drop(self.trace(index));
    }

    /// The trace of a living task.
    fn trace(&'static self, index: u32) -> Coroutine<P, L> {
        self.probe()
            .trace_of(index, self.tasks[index as usize].progress())
    }

    /// The station of the latest task with this number.
    fn find(&self, task: u32) -> Option<u32> {
        let index = self.tasks.iter().position(|entry| entry.has(task))?;
        Some(index as u32)
    }

    /// The station of the latest task with this number, else a station that is free, which then has
    /// this number. `None` if each station has a living task: the task is counted as refused.
    fn station_for(&'static self, task: u32) -> Option<u32> {
        let latest = self.find(task);
        // An interrupt handler may take the station for another task, if the latest task has ended.
        let own = latest.filter(|index| self.tasks[*index as usize].keep_or_take(task));
        own.or_else(|| self.free_station(task))
    }

    /// A station that no task has had, else the station of a task that has ended. The station then has
    /// this number.
    fn free_station(&'static self, task: u32) -> Option<u32> {
        let header = self.probe().region.header;
        if let Some(index) = alloc::claim_unused(&header.allocated_count, STATIONS as u32) {
            self.tasks[index as usize].give_to(task);
            return Some(index);
        }
        let mut stations = self.tasks.iter();
        let ended = stations.position(|entry| entry.take_ended_for(task));
        if ended.is_none() {
            header.refused.fetch_add(1, Ordering::Relaxed);
        }
        ended.map(|index| index as u32)
    }
}
