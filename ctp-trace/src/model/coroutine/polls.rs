//! How a coroutine comes to be polled: by wakes of its own, or by others.

use crate::record::CoroutineId;

/// What is known of the polls of a coroutine.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Polls {
    /// It was polled without a wake of its own, or inside of another one.
    pub(super) by_others: bool,
    /// A wake of its own has led to a run.
    pub(super) when_woken: bool,
    /// Inside of which coroutine it ran first, if it did inside of one.
    pub(in crate::model) host: Option<CoroutineId>,
    /// Whether what ran on its thread before its first run is not known.
    pub(in crate::model) surroundings_unrecorded: bool,
}

impl Polls {
    /// Its first run that is known was inside of this coroutine, if inside of one. `is_recorded` says
    /// whether all is known that ran on its thread until then.
    pub(in crate::model) fn enter(&mut self, host: Option<CoroutineId>, is_recorded: bool) {
        self.by_others |= host.is_some();
        self.host = self.host.or(host);
        self.surroundings_unrecorded |= !is_recorded;
    }

    /// A run ended to which no wake had led, or one had.
    #[inline]
    pub(super) fn note_run(&mut self, was_unasked: bool) {
        self.by_others |= was_unasked;
        self.when_woken |= !was_unasked;
    }
}
