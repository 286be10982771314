//! `traced_in`: records a task under the name of its span.

use std::future::Future;

use ctp_nostd::{Traced, TracedExt as _};
use tracing::Span;
use tracing::instrument::{Instrument as _, Instrumented};

/// Adds [`traced_in`](TracedSpanExt::traced_in) to every future.
pub trait TracedSpanExt: Future + Sized {
    /// Records the life of this future under the name of the span, with its wakes and the lines where it waits,
    /// and polls it inside the span. The caller is the spawn site. The [layer](crate::layer()) is not needed.
    ///
    /// ```
    /// use ctp_tracing::TracedSpanExt as _;
    ///
    /// # fn spawn(_: impl Future<Output = u32>) {}
    /// spawn(async { 7 }.traced_in(tracing::info_span!("connection")));
    /// ```
    #[track_caller]
    fn traced_in(self, span: Span) -> Traced<Instrumented<Self>> {
        let name = span.metadata().map(|metadata| metadata.name());
        let instrumented = self.instrument(span);
        match name {
            Some(name) => instrumented.traced_as(name),
            None => instrumented.traced(),
        }
    }
}

impl<F: Future> TracedSpanExt for F {}
