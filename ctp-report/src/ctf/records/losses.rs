//! Event records about events of coroutines that are missing in the trace.

use ctp_trace::model::Coroutine;
use ctp_trace::record::{Event, EventCounts};

use crate::ctf::encoding::{FieldValue, Moment};
use crate::ctf::records::EventRecords;
use crate::ctf::schema::EventClass;

impl EventRecords<'_> {
    /// Writes how many events are missing between the latest known event, or the birth, and this event.
    pub(super) fn add_loss_before(&mut self, coroutine: &Coroutine, event: &Event) {
        // Whether totals include these events is known at the end.
        if !self.model.is_by_name() {
            let moment = self.moment(coroutine, event);
            self.add_lost_events(coroutine, moment, coroutine.lost_before(event));
        }
    }

    /// Writes how many events are missing after the latest known event. When they happened is not known, so that
    /// the record has the time of the end.
    pub(super) fn add_loss_at_end(&mut self, coroutine: &Coroutine, event_counts: &EventCounts) {
        let moment = self.end_of(coroutine);
        let lost = if self.model.is_by_name() {
            coroutine.account.lost_given(event_counts)
        } else {
            coroutine.lost_at_the_end(event_counts)
        };
        if self.selection.has_start(moment.at) {
            self.add_lost_events(coroutine, moment, lost);
        }
        // The coroutine may have ended by an event that is lost.
        self.named.remove(&coroutine.id);
    }

    fn add_lost_events(&mut self, coroutine: &Coroutine, moment: Moment, lost: u64) {
        if 0 < lost {
            let values = [
                FieldValue::U32(coroutine.id.0),
                self.name(coroutine),
                FieldValue::U64(lost),
            ];
            self.add(EventClass::EventsLost, moment, &values);
        }
    }
}
