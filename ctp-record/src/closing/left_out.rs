//! The closing lines about events that were left out: dropped by a filter, or lost to a full buffer.

use super::ClosingLines;
use crate::cli::words::{counted, size};

impl ClosingLines<'_> {
    pub(super) fn filtered(&self) -> Option<String> {
        (self.totals.filtered > 0).then(|| {
            format!(
                "{} dropped by ctp-record control",
                counted(self.totals.filtered, "event")
            )
        })
    }

    /// Reports records that found a full buffer. Fewer events are counted as lost, because some of them were still read
    /// from slots.
    pub(super) fn crowded_out(&self) -> Option<String> {
        let records = self.totals.crowded_out;
        let remedy = match &self.capacity.backlog {
            Some(backlog) if backlog.was_full() => format!(
                "the backlog of {} was full, too: a larger --backlog would keep longer \
                 bursts, a faster disk more",
                size(backlog.limit_bytes())
            ),
            _ => "a larger --buffer would keep longer bursts".to_owned(),
        };
        (records > 0 && self.totals.doubtful == 0).then(|| {
            let records = counted(records, "record");
            format!("{records} (events, wakes, locks) found a thread's buffer full; {remedy}")
        })
    }
}

#[cfg(test)]
mod tests {

    use ctp_trace::record::End;

    use super::*;
    use crate::harvest::Totals;

    #[test]
    fn full_buffers_are_reported_in_records() {
        let closing = ClosingLines {
            totals: Totals {
                lanes: 1,
                crowded_out: 41_710,
                ..Totals::default()
            },
            ..ClosingLines::of_end(End::default())
        };
        let message = closing.crowded_out().expect("crowded-out records");
        assert!(
            message.starts_with("41 710 records (events, wakes, locks) found"),
            "{message}"
        );
    }
}
