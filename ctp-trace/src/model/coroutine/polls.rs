//! How a coroutine comes to be polled: by wakes of its own, or by others.

use crate::record::CoroutineId;
use crate::verdict::PollStanding;

/// What is known of the polls of a coroutine.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Polls {
    by_others: bool,
    when_woken: bool,
    /// Inside of which coroutine it ran first, if it did inside of one.
    pub(in crate::model) host: Option<CoroutineId>,
    /// Whether what ran on its thread before its first run is not known.
    pub(in crate::model) surroundings_untold: bool,
}

impl Polls {
    /// Its first run that is known was inside of this coroutine, if inside of one. `is_told` says
    /// whether all is known that ran on its thread until then.
    pub(in crate::model) fn enter(&mut self, host: Option<CoroutineId>, is_told: bool) {
        self.by_others |= host.is_some();
        self.host = self.host.or(host);
        self.surroundings_untold |= !is_told;
    }

    /// A run ended to which no wake had led, or one had.
    #[inline]
    pub(super) fn note_run(&mut self, was_unasked: bool) {
        self.by_others |= was_unasked;
        self.when_woken |= !was_unasked;
    }

    /// What they say to the verdict, but for what the wakers and the rest of the trace say.
    pub(super) fn standing(&self) -> PollStanding {
        PollStanding {
            by_others: self.by_others,
            when_woken: self.when_woken,
            ..PollStanding::default()
        }
    }
}
