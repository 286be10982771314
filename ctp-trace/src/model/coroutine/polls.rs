//! How a coroutine is polled: after its own wakes, or by another coroutine inside which it runs.

use crate::record::CoroutineId;

/// What is known of a coroutine's polls.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct Polls {
    /// The coroutine was polled without a wake of its own, or inside another coroutine.
    pub(super) by_others: bool,
    /// A wake of the coroutine itself has led to a run.
    pub(super) when_woken: bool,
    /// The coroutine inside which this coroutine first ran, if there is one.
    pub(in crate::model) host: Option<CoroutineId>,
    /// It is unknown what ran on the thread before the coroutine's first run.
    pub(in crate::model) surroundings_unrecorded: bool,
}

impl Polls {
    /// Notes the first known run. `host` is the coroutine inside which the run happened, if there is one.
    /// `is_recorded` says whether everything that ran on the thread until then is known.
    pub(in crate::model) fn enter(&mut self, host: Option<CoroutineId>, is_recorded: bool) {
        self.by_others |= host.is_some();
        self.host = self.host.or(host);
        self.surroundings_unrecorded |= !is_recorded;
    }

    /// Notes that a run has ended. `was_unwoken` says that no wake had led to the run.
    #[inline]
    pub(super) fn note_run(&mut self, was_unwoken: bool) {
        self.by_others |= was_unwoken;
        self.when_woken |= !was_unwoken;
    }
}
