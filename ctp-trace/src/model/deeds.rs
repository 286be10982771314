//! What threads did: wakes, closings, locks taken and given back, and records that they lost.

use super::Census;
use super::names::NameId;
use super::resources::closings::{self, Closing, Resource};
use super::wakers::Woken;
use crate::record::{Act, Deed, Hold, Nanos, Waker};

impl Census {
    /// One that is forgotten stays so, whoever wakes it.
    pub(super) fn deed(&mut self, deed: &Deed) {
        self.extent.tell_until(deed.at);
        match &deed.act {
            Act::Wake(call) => {
                let caller = self.name_of(call.by);
                if let Some(one) = self.coroutines.known(call.coroutine) {
                    one.called(Woken::of(deed, call, caller), &mut self.places);
                }
            }
            Act::Begin => self.runners.of(deed.process).begins(deed.tid),
            Act::Loss(records) => {
                self.missing.losses.note(deed, *records);
                self.doubt_births(deed.process, deed.tid);
            }
            Act::Close(close) => {
                if let Some(it) = closings::resource(deed.process, close.wait, close.arg) {
                    let closing = Closing {
                        at: deed.at,
                        tid: deed.tid,
                        site: close.site,
                        ended: None,
                    };
                    self.close(it, closing);
                    self.holds.close(deed.at, it);
                }
            }
            Act::Acquire(hold) => {
                let waited_since = self.waited_for(deed, hold);
                self.holds.acquire(deed, hold, waited_since);
            }
            Act::Release(hold) => {
                let name = self.name_of(hold.by);
                self.holds.release(deed, hold, name);
            }
            Act::End => self.runners.of(deed.process).ends(deed.tid),
        }
    }

    /// Those that wait for this wait for what has come.
    pub(super) fn close(&mut self, resource: Resource, closing: Closing) {
        let coroutines = self.coroutines.all();
        self.resources.closings.note(resource, closing, coroutines);
        self.resources.habits.closed(resource, &closing);
    }

    fn name_of(&self, who: Waker) -> NameId {
        let one = match who {
            Waker::Coroutine(id) => self.coroutines.get(id),
            _ => None,
        };
        one.map(|one| one.name).unwrap_or_default()
    }

    /// When the taker of a lock began the wait for it that ended in its latest run. One that takes it
    /// again in that run has not waited.
    fn waited_for(&mut self, deed: &Deed, hold: &Hold) -> Option<Nanos> {
        let Waker::Coroutine(id) = hold.by else {
            return None;
        };
        let of = |wait, arg| closings::resource(deed.process, wait, arg);
        let is_it = |wait, arg| of(wait, arg) == of(hold.wait, hold.arg);
        self.coroutines.known(id)?.waits.take(is_it)
    }
}
