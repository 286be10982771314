//! [`Parts`]: which boxed futures are parts of tasks.

use std::collections::{HashMap, HashSet};

use ctp_trace::record::TaskId;

use super::{Known, is_followed};
use crate::boxed::live::LiveBox;
use crate::boxed::owners::Holder;

/// What is known of the tasks with regard to boxed futures.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The numbers of the tasks, by address.
    numbers: HashMap<u64, TaskId>,
    /// The addresses of the futures that are polled whenever a task is, each with the address of the task.
    polled: HashMap<u64, u64>,
    /// The addresses of tasks whose futures were not followed, usually because a thread polls the task.
    unread: HashSet<u64>,
}

/// A boxed future that is not part of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnBox {
    pub(super) live: LiveBox,
    /// What holds the box.
    pub(super) holder: Holder,
    /// What holds the outermost of the boxed futures that hold each other.
    pub(super) outermost: Holder,
}

impl Parts {
    pub(super) fn of((tasks, futures, roots): Known<'_>, numbers: &HashMap<u64, TaskId>) -> Self {
        let mut parts = Parts {
            numbers: numbers.clone(),
            polled: roots.polled.iter().copied().collect(),
            unread: HashSet::new(),
        };
        let of_roots = roots.tasks.iter().map(|root| (root.address, root.id));
        parts.numbers.extend(of_roots);
        for task in tasks {
            let future = futures.get(&task.address);
            match future.and_then(|(_, future)| future.polled.as_ref()) {
                Some(polled) => {
                    let polled = polled.iter().map(|future| (future.start, task.address));
                    parts.polled.extend(polled);
                }
                None if is_followed(task) => _ = parts.unread.insert(task.address),
                None => {}
            }
        }
        parts
    }

    /// The task at an address.
    pub(super) fn task_at(&self, address: u64) -> Option<TaskId> {
        self.numbers.get(&address).copied()
    }

    /// The task that polls the future at an address whenever the task is polled.
    pub(super) fn polling(&self, future: u64) -> Option<TaskId> {
        self.task_at(*self.polled.get(&future)?)
    }

    /// Leaves out the boxes that are parts of tasks. It is unknown which boxes are parts of a task whose futures were
    /// not followed, so all boxes that such a task holds are left out.
    pub(super) fn without_parts(&self, boxes: Vec<(LiveBox, Holder)>) -> Vec<OwnBox> {
        let holders = boxes.iter();
        let holders: HashMap<u64, Holder> = holders
            .map(|(live, holder)| (live.address, holder.clone()))
            .collect();
        let own = boxes.into_iter().filter_map(|(live, holder)| {
            let outermost = self.outermost(&holder, &holders);
            let may_be_part = match &outermost {
                Holder::Task(task) => self.unread.contains(task),
                holder => *holder == Holder::OtherTask,
            };
            let is_part = may_be_part || self.polled.contains_key(&live.address);
            (!is_part).then_some(OwnBox {
                live,
                holder,
                outermost,
            })
        });
        own.collect()
    }

    /// Follows holders that are boxed futures.
    fn outermost(&self, holder: &Holder, holders: &HashMap<u64, Holder>) -> Holder {
        let mut next = holder;
        for _ in 0..=holders.len() {
            let Holder::Boxed(outer) = next else {
                return next.clone();
            };
            if let Some(task) = self.polled.get(outer) {
                return Holder::Task(*task);
            }
            match holders.get(outer) {
                Some(holder) => next = holder,
                None => break,
            }
        }
        Holder::Unknown
    }
}
