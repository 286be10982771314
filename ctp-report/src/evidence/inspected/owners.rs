//! Words for what holds boxed futures.

use std::collections::BTreeSet;

use ctp_trace::record::{InspectedTask, TaskKind, TaskOwner};

use crate::evidence::inspected::threads::ThreadStack;
use crate::text;

/// What holds several boxed futures. Empty if they are no boxed futures.
pub fn holders(tasks: &[&InspectedTask], threads: &[ThreadStack]) -> Vec<String> {
    let boxed = tasks.iter().filter(|task| task.kind == TaskKind::Boxed);
    let owners: BTreeSet<&TaskOwner> = boxed.map(|task| &task.owner).collect();
    let of_tasks = owners.iter().filter_map(|owner| match owner {
        TaskOwner::Task(id) => Some(u64::from(id.0)),
        _ => None,
    });
    let of_tasks: Vec<u64> = of_tasks.collect();
    let others = owners.iter().filter_map(|owner| holder(owner, threads));
    let tasks = (!of_tasks.is_empty()).then(|| format!("task {}", text::few(&of_tasks)));
    tasks.into_iter().chain(others).collect()
}

/// Formats a holder that is no task.
fn holder(owner: &TaskOwner, threads: &[ThreadStack]) -> Option<String> {
    match owner {
        TaskOwner::Task(_) => None,
        TaskOwner::Static(path) => Some(format!("static `{}`", text::escape(path))),
        TaskOwner::Thread(tid) => Some(thread(*tid, threads)),
        _ => Some("an unknown owner".to_owned()),
    }
}

/// Formats ``thread `pool` (tid 71)``. Core files lack the names of threads.
fn thread(tid: u32, threads: &[ThreadStack]) -> String {
    let mut threads = threads.iter().map(|stack| stack.thread);
    let thread = threads.find(|thread| thread.tid == tid && !thread.name.is_empty());
    match thread {
        Some(thread) => format!("thread `{}` (tid {tid})", text::escape(&thread.name)),
        None => format!("thread {tid}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::TaskId;

    #[test]
    fn each_holder_is_named_once() {
        let boxed = |owner| InspectedTask {
            kind: TaskKind::Boxed,
            owner,
            ..InspectedTask::default()
        };
        let tasks = [
            boxed(TaskOwner::Task(TaskId(7))),
            boxed(TaskOwner::Static("app::QUEUE".to_owned())),
            boxed(TaskOwner::Task(TaskId(3))),
            boxed(TaskOwner::Task(TaskId(7))),
            boxed(TaskOwner::Thread(71)),
            boxed(TaskOwner::Unknown),
        ];
        let tasks: Vec<&InspectedTask> = tasks.iter().collect();
        let expected = [
            "task 3, 7",
            "an unknown owner",
            "static `app::QUEUE`",
            "thread 71",
        ];
        assert_eq!(holders(&tasks, &[]), expected);
        assert_eq!(holders(&[&InspectedTask::default()], &[]), [""; 0]);
    }
}
