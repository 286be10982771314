//! Waits of coroutines with stacks of their own.

use super::Coroutine;
use crate::platform::{Platform, ProbeLayout, local};
use crate::protocol::intern::call_site::CallSite;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::Wait;

/// Where a function is on its stack, as a caller in another language reads its own registers.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackPosition {
    /// The address of an instruction of the function.
    pub pc: u64,
    /// The stack pointer there.
    pub sp: u64,
    /// The frame pointer there: `rbp` on x86-64, `x29` on AArch64.
    pub fp: u64,
}

impl<P: Platform, L: ProbeLayout> Coroutine<P, L> {
    /// Like [`suspend`](Self::suspend), for a coroutine with a stack of its own. While it waits, the
    /// recorder can read its call stack from outside. On processors other than x86-64 and AArch64,
    /// the same as `suspend`.
    ///
    /// Call this on the coroutine's stack, from a function that does not return before the switch to
    /// another stack. That function is the innermost of the call stack. Call [`run`](Self::run)
    /// before the switch back. Where that is not possible, call `run` in the same function, right
    /// after the switch back.
    #[inline(always)] // the position is that of the caller
    pub fn suspend_with_stack<S: CallSite>(&self, wait: Wait<S>) {
        let Some(handle) = self.handle.live() else {
            return;
        };
        let local = local::<P>();
        self.clear_current(handle, local);
        if handle.keeps(handle.probe.control_word(), EventKind::Suspend) {
            let position = match L::as_full(handle.station) {
                Some(station) => station.store_caller(), // inlined, unlike a closure
                None => None,
            };
            let addr = position.unwrap_or_else(|| self.addr());
            handle.emit_suspend(local, wait, addr, self.wake_seen());
        }
    }

    /// Like [`suspend_with_stack`](Self::suspend_with_stack), with the position of a function of another
    /// language, which calls this. That function does not return before the switch to another stack.
    pub fn suspend_at_position<S: CallSite>(&self, wait: Wait<S>, position: &StackPosition) {
        let Some(handle) = self.handle.live() else {
            return;
        };
        let local = local::<P>();
        self.clear_current(handle, local);
        if handle.keeps(handle.probe.control_word(), EventKind::Suspend) {
            let StackPosition { pc, sp, fp } = *position;
            let station = L::as_full(handle.station);
            let addr = station.map(|station| station.store_position(pc, sp, fp));
            handle.emit_suspend(local, wait, addr.unwrap_or(self.addr()), self.wake_seen());
        }
    }
}
