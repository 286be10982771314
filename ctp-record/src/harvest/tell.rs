//! What was read of an event, in a slot or a lane, becomes one of the trace.

use ctp_nostd::slot::Epoch;
use ctp_trace::record::{Event, EventKind, ProcessId};

use super::{Harvest, Pass, Places, convert};

/// In whose way an event is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Ours,
    Plain,
}

impl Harvest {
    /// Event `n` of this station was read, whatever it says: it goes to the sink if it can be one.
    #[inline(never)]
    pub(super) fn emit(&mut self, index: usize, n: u64, epoch: &Epoch, pass: &mut Pass<'_>) {
        let may_be = self.horizon.may_have_been(epoch.timestamp);
        let cell = &mut self.cells[index];
        cell.inexact |= self.horizon.is_before_dawn(epoch.timestamp);
        let plain = cell.plain.is_some();
        let is_its_own = plain || epoch.generation == cell.generation();
        let kind = convert::event_kind(epoch, plain).filter(|_| is_its_own && may_be);
        let Some(kind) = kind else {
            cell.go_past(n);
            self.totals.quarantined += 1;
            self.miss(index, 1);
            return;
        };
        let source = match plain {
            true => Source::Plain,
            false => Source::Ours,
        };
        let event = self.tell((index, n), kind, epoch, source, pass);
        pass.sink.take_event(&event);
    }

    /// What the trace says of event `n` of a station, which is of this kind.
    fn tell(
        &mut self,
        (index, n): (usize, u64),
        kind: EventKind,
        epoch: &Epoch,
        source: Source,
        pass: &mut Pass<'_>,
    ) -> Event {
        let at = self.horizon.nanos(epoch.timestamp);
        let cell = &mut self.cells[index];
        let process = cell.process;
        let mut event = cell.event(n, at, kind, epoch, source);
        self.told = self.told.max(at);
        self.totals.events += 1;
        match kind {
            EventKind::Suspend => {
                self.places
                    .describe_wait(&mut event, process, epoch, source, pass);
            }
            EventKind::Death => self.ended.push(index as u32),
            EventKind::Birth | EventKind::Run => {}
        }
        event
    }
}

impl Places {
    /// What a suspend says of its wait, and where that is.
    #[inline(always)]
    pub(super) fn describe_wait(
        &mut self,
        event: &mut Event,
        process: ProcessId,
        epoch: &Epoch,
        source: Source,
        pass: &mut Pass<'_>,
    ) {
        let site = match source {
            Source::Plain => self.plain(process, epoch.addr, pass),
            Source::Ours => self.word(process, epoch.site, pass),
        };
        convert::describe_wait(event, epoch, source == Source::Plain, site);
    }
}
