//! Applies the events of threads to the model: begin, end, wakes, closes, locks, and lost records.

use super::TraceModel;
use super::coroutine::Coroutine;
use super::names::NameId;
use super::resources::closings::{self, Closing, Resource};
use super::wakers::Woken;
use crate::record::{Act, Hold, Nanos, ThreadEvent, WakeCall, Waker};

impl TraceModel {
    /// Takes an event of a thread. Ignores the wake of a coroutine that was removed from the model.
    pub(super) fn thread_event(&mut self, thread_event: &ThreadEvent) {
        self.extent.note_complete_until(thread_event.at);
        if !matches!(thread_event.act, Act::Begin | Act::End | Act::Loss(_)) {
            self.runners
                .of(thread_event.process)
                .acted(thread_event.tid, thread_event.at);
        }
        match &thread_event.act {
            Act::Wake(call) => {
                let woken = Woken {
                    is_from_helper: self.is_from_helper(thread_event, call),
                    ..Woken::of(thread_event, call, self.coroutine_of(call.by))
                };
                if let Some(coroutine) = self.coroutines.known(call.coroutine) {
                    coroutine.called(woken, &mut self.places);
                    self.callers.note(call);
                }
            }
            Act::Begin => self
                .runners
                .of(thread_event.process)
                .begins(thread_event.tid),
            Act::Loss(records) => {
                self.missing.losses.note(thread_event, *records);
                self.distrust_births(thread_event.process, thread_event.tid);
            }
            Act::Close(close) => {
                let process = thread_event.process;
                if let Some(resource) = closings::resource(process, close.wait, close.arg) {
                    let closing = Closing {
                        at: thread_event.at,
                        tid: thread_event.tid,
                        site: close.site,
                        ended: None,
                    };
                    self.close(resource, closing);
                    self.holds.close(thread_event.at, resource);
                }
            }
            Act::Acquire(hold) => {
                let waited_since = self.take_wait_start(thread_event, hold);
                self.holds.acquire(thread_event, hold, waited_since);
            }
            Act::Release(hold) => {
                let name = self.name_of(hold.by);
                self.holds.release(thread_event, hold, name);
            }
            Act::End => self.runners.of(thread_event.process).ends(thread_event.tid),
        }
    }

    /// Takes the close of a resource, for the coroutines that wait for it.
    pub(super) fn close(&mut self, resource: Resource, closing: Closing) {
        let coroutines = self.coroutines.all();
        self.resources.closings.note(resource, closing, coroutines);
        self.resources.usual_use.closed(resource, &closing);
    }

    fn coroutine_of(&self, waker: Waker) -> Option<&Coroutine> {
        match waker {
            Waker::Coroutine(id) => self.coroutines.get(id),
            _ => None,
        }
    }

    /// Whether a thread called that has run no coroutine.
    fn is_from_helper(&self, thread_event: &ThreadEvent, call: &WakeCall) -> bool {
        let runners = self.runners.get(thread_event.process);
        let has_run = runners.is_some_and(|runners| runners.thread(thread_event.tid).is_some());
        matches!(call.by, Waker::Thread(_)) && !has_run
    }

    fn name_of(&self, waker: Waker) -> NameId {
        self.coroutine_of(waker)
            .map(|coroutine| coroutine.name)
            .unwrap_or_default()
    }

    /// Takes the start of the acquirer's wait before its latest run, if that wait was for this lock. Returns
    /// it once, so a second acquire in the same run has no wait.
    fn take_wait_start(&mut self, thread_event: &ThreadEvent, hold: &Hold) -> Option<Nanos> {
        let Waker::Coroutine(id) = hold.by else {
            return None;
        };
        let process = thread_event.process;
        let released = closings::resource(process, hold.wait, hold.arg);
        self.coroutines
            .known(id)?
            .waits
            .take(|wait, arg| closings::resource(process, wait, arg) == released)
    }
}
