//! The closing lines about memory that a program overwrote, and about numbers in doubt.

use super::ClosingLines;
use crate::cli::words::counted;

impl ClosingLines<'_> {
    pub(super) fn damaged(&self) -> Option<String> {
        let owner = match self.damaged_regions {
            0 => return None,
            1 => "a process".to_owned(),
            many => format!("{many} processes"),
        };
        Some(format!(
            "{owner} overwrote the recording's memory: data read before that is sound, \
             figures of its coroutines are marked"
        ))
    }

    pub(super) fn damaged_lanes(&self) -> Option<String> {
        let owner = match self.totals.damaged_lanes {
            0 => return None,
            1 => "a thread's buffer was".to_owned(),
            many => format!("{many} threads' buffers were"),
        };
        Some(format!(
            "{owner} overwritten: from then on only the latest events of its coroutines were read"
        ))
    }

    pub(super) fn doubtful(&self) -> Option<String> {
        (self.totals.doubtful > 0).then(|| {
            format!(
                "the memory of {} held impossible numbers: their counts and all totals \
                 are in doubt",
                counted(self.totals.doubtful.into(), "coroutine")
            )
        })
    }
}
