//! Applies commands of `ctp-record control` to the memories of the processes that the commands name. The
//! orders of a memory say which events are recorded.

use ctp_trace::record::{Control, Nanos};

use super::MemorySet;
use super::held_memory::HeldMemory;
use crate::control::{Orders, Verb};

impl HeldMemory {
    /// The id of the only process to record, if the orders name such a process.
    fn only_process_to_record(&self) -> Option<u32> {
        match self.orders.filter.only_process {
            0 => None,
            pid => Some(pid),
        }
    }
}

impl MemorySet {
    /// Changes the orders of this process, or of all. The change is complete once every coroutine that was
    /// [`inside`](MemorySet::inside) an event has left that event.
    pub fn order(&mut self, verb: Verb, pid: Option<u32>) {
        self.generation += 1;
        let meant: Vec<bool> = self.held.iter().map(|held| self.is_of(held, pid)).collect();
        for (held, _) in self.held.iter_mut().zip(meant).filter(|(_, meant)| *meant) {
            held.orders = held.orders.after(verb);
        }
        if pid.is_none() {
            self.orders = self.orders.after(verb);
        }
        self.apply_orders();
    }

    /// The record of the latest change of the filter, with the time `at`.
    pub fn change(&self, at: Nanos, pid: Option<u32>) -> Control {
        let orders = self.orders_of(pid);
        orders.record(at, self.generation, pid.unwrap_or(0))
    }

    pub(super) fn apply_orders(&mut self) {
        let chosen: Vec<bool> = self
            .held
            .iter()
            .map(|held| self.is_of(held, held.only_process_to_record()))
            .collect();
        for (held, is_chosen) in self.held.iter_mut().zip(chosen) {
            held.header().command(held.orders.of_process(is_chosen));
            held.harvest.note_control();
        }
    }

    /// Whether process `pid` writes to the memory `held`. The first memory belongs to all processes without a
    /// memory of their own. Without a `pid`, returns true.
    pub(super) fn is_of(&self, held: &HeldMemory, pid: Option<u32>) -> bool {
        match (pid, held.only_pid) {
            (None, _) => true,
            (Some(pid), Some(only_pid)) => pid == only_pid,
            (Some(pid), None) => !self.has_own_memory(pid),
        }
    }

    fn has_own_memory(&self, pid: u32) -> bool {
        self.held.iter().any(|held| held.only_pid == Some(pid))
    }

    /// The indices of memory and station of each coroutine that is inside an event, in this process or in
    /// all. Earlier orders may have decided whether such an event is kept.
    pub fn inside(&self, pid: Option<u32>) -> Vec<(usize, usize)> {
        let mut inside = Vec::new();
        for (number, held) in self.held.iter().enumerate() {
            if !self.is_of(held, pid) {
                continue;
            }
            for (index, station) in held.memory.region().allocated().iter().enumerate() {
                if station.is_inside() {
                    inside.push((number, index));
                }
            }
        }
        inside
    }

    /// Removes the coroutines that are no longer inside an event. Their next event obeys the current orders.
    pub fn retain_inside(&self, inside: &mut Vec<(usize, usize)>) {
        inside.retain(|(number, index)| {
            let held = self.held.get(*number);
            held.is_some_and(|held| held.memory.region().stations[*index].is_inside())
        });
    }

    /// The number of events of this process, or of all, if the probes write no lanes, so that all events are
    /// read from slots. `None` if any probe writes lanes, or there are no events.
    pub fn events_without_lanes(&self, pid: Option<u32>) -> Option<u64> {
        let mut events = 0;
        for held in self.held.iter().filter(|held| self.is_of(held, pid)) {
            let totals = held.harvest.totals();
            if held.foreign() < totals.coroutines {
                return None;
            }
            events += totals.events + totals.lost;
        }
        Some(events).filter(|events| 0 < *events)
    }

    /// Whether the orders of any memory exclude events.
    pub fn are_controlled(&self) -> bool {
        self.held.iter().any(|held| held.orders.are_in_force())
    }

    /// The orders of process `pid`. Without a `pid`, the orders for processes that start later.
    pub fn orders_of(&self, pid: Option<u32>) -> Orders {
        let mut held = self.held.iter().filter(|_| pid.is_some());
        let found = held.find(|held| self.is_of(held, pid));
        found.map_or(self.orders, |held| held.orders)
    }
}
