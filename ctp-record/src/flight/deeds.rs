//! What threads did between the rows of a snapshot.

use ctp_nostd::inspect::WokenBy;
use ctp_nostd::lane::{Deed, HELD_BY_COROUTINE, HELD_BY_THREAD, Payload};
use ctp_trace::record::{self, Act, Close, CoroutineId, Hold, Nanos, Record, WakeCall, Waker};

use super::rows::Rows;
use crate::harvest::convert;

impl Rows<'_> {
    /// Tells what a thread did.
    pub(super) fn deed(&mut self, index: usize, at: u64, deed: Deed, payload: &Payload) {
        if matches!(deed, Deed::Begin | Deed::Loss) {
            let least = u32::from(deed == Deed::Loss);
            self.refused(index, at, payload.n as u32, least);
        }
        if deed == Deed::Begin {
            let part = &self.parts[self.streams[index].part];
            let process = part.process(payload.station);
            let stream = &mut self.streams[index];
            stream.author = (payload.arg, process.unwrap_or(stream.author.1));
        }
        let act = match deed {
            Deed::Begin => Some(Act::Begin),
            Deed::End => Some(Act::End),
            Deed::Loss | Deed::Void => None,
            Deed::Wake => self.wake_call(index, at, payload).map(Act::Wake),
            Deed::Close => Some(Act::Close(self.closing(index, payload))),
            Deed::Acquire => Some(Act::Acquire(self.hold(index, at, payload))),
            Deed::Release => Some(Act::Release(self.hold(index, at, payload))),
        };
        if let Some(act) = act {
            self.tell_deed(index, at, act);
        }
    }

    fn tell_deed(&mut self, index: usize, at: u64, act: Act) {
        let (tid, process) = self.streams[index].author;
        self.sink.take(Record::Deed(record::Deed {
            process,
            tid,
            at: Nanos(at.saturating_sub(self.zero_ns)),
            act,
        }));
    }

    /// So many records found no room since the thread took the lane; at least so many just before.
    pub(super) fn refused(&mut self, index: usize, at: u64, count: u32, least: u32) {
        let told = &mut self.streams[index].told_refused;
        let records = told.map_or(least, |told| convert::newly_lost(told, count));
        *told = Some(told.map_or(count, |told| told.wrapping_add(records)));
        if records > 0 {
            self.tell_deed(index, at, Act::Loss(records.into()));
        }
    }

    /// Nothing if nobody knows who was woken, or nothing else is told of that one.
    fn wake_call(&mut self, index: usize, at: u64, payload: &Payload) -> Option<WakeCall> {
        let (part, process) = (self.streams[index].part, self.streams[index].author.1);
        let woken = self.plan.attributions[part].woken(at, payload)?;
        let coroutine = self.told(woken)?;
        Some(WakeCall {
            coroutine,
            count: payload.n as u32,
            by: self.waker(part, at, WokenBy::from_word(payload.arg as u32)),
            site: self.site(part, process, payload.site),
        })
    }

    fn closing(&mut self, index: usize, payload: &Payload) -> Close {
        let (part, process) = (self.streams[index].part, self.streams[index].author.1);
        Close {
            wait: convert::wait_kind(payload.wait_kind),
            arg: payload.arg,
            site: self.site(part, process, payload.site),
        }
    }

    fn hold(&mut self, index: usize, at: u64, payload: &Payload) -> Hold {
        let by = self.doer(index, at, payload);
        let Close { wait, arg, site } = self.closing(index, payload);
        Hold {
            wait,
            arg,
            by,
            site,
        }
    }

    /// Who ran where the deed was told.
    fn doer(&self, index: usize, at: u64, payload: &Payload) -> Waker {
        let stream = &self.streams[index];
        match payload.n {
            HELD_BY_THREAD => Waker::Thread(stream.author.0 as u32),
            HELD_BY_COROUTINE => {
                let told = self.plan.attributions[stream.part].woken(at, payload);
                let told = told.and_then(|person| self.told(person));
                told.map_or(Waker::Foreign, Waker::Coroutine)
            }
            _ => Waker::Foreign,
        }
    }

    /// Who woke at that time.
    pub(super) fn waker(&self, part: usize, at: u64, by: WokenBy) -> Waker {
        convert::waker(by, |word| {
            let seated = self.plan.attributions[part].seated(at, word);
            seated.and_then(|person| self.told(person))
        })
    }

    fn told(&self, person: usize) -> Option<CoroutineId> {
        let one = &self.plan.people[person];
        one.is_told.then(|| one.occupant().coroutine)
    }
}
