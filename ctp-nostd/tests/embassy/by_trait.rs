//! The hooks as a trait, as in versions of embassy-executor after 0.10. The module `embassy_executor`
//! stands for such a version.

use ctp_nostd::Embassy;

use super::{BIRTH, DEATH, RUN, SUSPEND, board, dump, kinds, name_of};
use embassy_executor::ExecutorId;
use embassy_executor::raw::TaskRef;
use embassy_executor::raw::trace::Trace;

mod embassy_executor {
    pub mod raw {
        #[derive(Clone, Copy)]
        pub struct TaskRef(pub usize);

        pub struct TaskId(usize);

        impl TaskRef {
            pub fn id(&self) -> TaskId {
                TaskId(self.0)
            }
        }

        impl TaskId {
            pub fn get(&self) -> usize {
                self.0
            }
        }

        pub mod trace {
            use super::super::ExecutorId;
            use super::TaskRef;

            pub trait Trace {
                fn poll_start(executor: ExecutorId);
                fn task_new(executor: ExecutorId, task: TaskRef);
                fn task_end(executor: ExecutorId, task: TaskRef);
                fn task_exec_begin(executor: ExecutorId, task: TaskRef);
                fn task_exec_end(executor: ExecutorId, task: TaskRef);
                fn task_ready_begin(executor: ExecutorId, task: TaskRef);
                fn executor_idle(executor: ExecutorId);
                fn idle();
                fn task_name_set(task: TaskRef, name: &'static str);
                fn task_priority_set(task: TaskRef, priority: u8);
                fn task_deadline_set(task: TaskRef, deadline: u64);
            }
        }
    }

    #[derive(Clone, Copy)]
    pub struct ExecutorId(pub usize);

    impl ExecutorId {
        pub fn get(&self) -> usize {
            self.0
        }
    }

    /// Lets the test call what is registered.
    macro_rules! trace_impl {
        ($hooks:ty) => {
            impl Registered for Executor {
                type Hooks = $hooks;
            }
        };
    }
    pub(crate) use trace_impl;
}

trait Registered {
    type Hooks: Trace;
}

struct Executor;

board!(Traced, 21);
ctp_nostd::embassy_trait!(static TRACED: Embassy<Traced, 2> = Embassy::new());

// LT-27
#[test]
fn registered_trait_records_tasks_and_names() {
    type Hooks = <Executor as Registered>::Hooks;
    let (executor, task, region) = (ExecutorId(5), TaskRef(7), dump(&TRACED));
    Hooks::task_name_set(task, "radio");
    Hooks::task_priority_set(task, 1);
    Hooks::task_deadline_set(task, 2);
    Hooks::task_new(executor, task);
    Hooks::task_ready_begin(executor, task);
    for _ in 0..2 {
        Hooks::poll_start(executor);
        Hooks::task_exec_begin(executor, task);
        Hooks::task_exec_end(executor, task);
        Hooks::executor_idle(executor);
        Hooks::idle();
    }
    Hooks::task_exec_begin(executor, task);
    Hooks::task_end(executor, task);
    Hooks::task_exec_end(executor, task);
    let station = &region.stations[0];
    assert_eq!(
        kinds(station),
        [BIRTH, RUN, SUSPEND, RUN, SUSPEND, RUN, DEATH]
    );
    assert_eq!(station.wakes().count, 1);
    let (name, site) = name_of(&region, station).expect("it has a name");
    assert_eq!((name.as_str(), site), ("radio", None));
}
