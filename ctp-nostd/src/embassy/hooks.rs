//! The hooks of embassy-executor, by the names that the executor calls.

/// Defines a static [`Embassy`](crate::Embassy) memory, and the trace hooks that record into it. A
/// program has a single such static. Its symbol has the name of the static, so that a debugger finds
/// the memory.
///
/// embassy-executor 0.8 to 0.10 calls these hooks if its feature `trace` is enabled. For a version with
/// hooks that are the trait `embassy_executor::raw::trace::Trace`, use [`embassy_trait!`](crate::embassy_trait!).
///
/// ```
/// use ctp_nostd::{self as ctp, Embassy};
///
/// ctp::embassy!(static CTP: Embassy<Board, 16> = Embassy::new());
///
/// struct Board;
/// // SAFETY: one core, and no `Local`.
/// unsafe impl ctp::Platform for Board {
///     fn now_ns() -> u64 { 1 } // a timer
///     fn thread() -> u64 { 0 }
///     fn ring() {}
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! embassy {
    ($visibility:vis static $name:ident : $type:ty = $value:expr $(;)?) => {
        $crate::embassy!(@memory $visibility $name $type, $value);

        const _: () = {
            #[unsafe(no_mangle)]
            fn _embassy_trace_poll_start(_executor: u32) {}
            #[unsafe(no_mangle)]
            fn _embassy_trace_task_new(_executor: u32, task: u32) {
                $name.task_new(task);
            }
            #[unsafe(no_mangle)]
            fn _embassy_trace_task_end(executor: u32, task: u32) {
                $name.task_end(executor, task);
            }
            #[unsafe(no_mangle)]
            fn _embassy_trace_task_exec_begin(executor: u32, task: u32) {
                $name.task_exec_begin(executor, task);
            }
            #[unsafe(no_mangle)]
            fn _embassy_trace_task_exec_end(executor: u32, task: u32) {
                $name.task_exec_end(executor, task);
            }
            #[unsafe(no_mangle)]
            fn _embassy_trace_task_ready_begin(_executor: u32, task: u32) {
                $name.task_ready_begin(task);
            }
            #[unsafe(no_mangle)]
            fn _embassy_trace_executor_idle(_executor: u32) {}
        };
    };
    (@memory $visibility:vis $name:ident $type:ty, $value:expr) => {
        #[allow(unsafe_code, reason = "a debugger finds the memory by this name")]
        #[unsafe(no_mangle)]
        $visibility static $name: $type = $value;
    };
}

/// Like [`embassy!`](crate::embassy!), for versions of embassy-executor after 0.10, whose hooks are the
/// trait `embassy_executor::raw::trace::Trace`. Tasks then have the names that the program gives them in
/// embassy.
///
/// ```ignore
/// ctp_nostd::embassy_trait!(static CTP: Embassy<Board, 16> = Embassy::new());
/// ```
#[macro_export]
macro_rules! embassy_trait {
    ($visibility:vis static $name:ident : $type:ty = $value:expr $(;)?) => {
        $crate::embassy!(@memory $visibility $name $type, $value);

        const _: () = {
            use embassy_executor::ExecutorId;
            use embassy_executor::raw::TaskRef;
            use embassy_executor::raw::trace::Trace;

            struct Hooks;

            impl Trace for Hooks {
                fn poll_start(_: ExecutorId) {}
                fn task_new(_: ExecutorId, task: TaskRef) {
                    $name.task_new(task.id().get() as u32);
                }
                fn task_end(executor: ExecutorId, task: TaskRef) {
                    $name.task_end(executor.get() as u32, task.id().get() as u32);
                }
                fn task_exec_begin(executor: ExecutorId, task: TaskRef) {
                    $name.task_exec_begin(executor.get() as u32, task.id().get() as u32);
                }
                fn task_exec_end(executor: ExecutorId, task: TaskRef) {
                    $name.task_exec_end(executor.get() as u32, task.id().get() as u32);
                }
                fn task_ready_begin(_: ExecutorId, task: TaskRef) {
                    $name.task_ready_begin(task.id().get() as u32);
                }
                fn executor_idle(_: ExecutorId) {}
                fn idle() {}
                fn task_name_set(task: TaskRef, name: &'static str) {
                    $name.task_name_set(task.id().get() as u32, name);
                }
                fn task_priority_set(_: TaskRef, _: u8) {}
                fn task_deadline_set(_: TaskRef, _: u64) {}
            }

            embassy_executor::trace_impl!(Hooks);
        };
    };
}
