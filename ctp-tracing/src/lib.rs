//! Records the spans of `tracing` as coroutines, for programs that have spans already.
//!
//! ```
//! use tracing_subscriber::layer::SubscriberExt as _;
//! use tracing_subscriber::util::SubscriberInitExt as _;
//!
//! ctp_tracing::attach(); // first thing in `main`, before there are threads
//! tracing_subscriber::registry()
//!     .with(ctp_tracing::layer())
//!     .init();
//! ```
//!
//! | what happens to a span | what is recorded |
//! | --- | --- |
//! | it is created | a birth, under the name of the span, at the line of the span |
//! | it is entered, as at each poll of an instrumented future | a run |
//! | it is exited | a suspend; if a child was exited inside it and has not been closed, a wait for that child, otherwise a wait for something unknown |
//! | it is closed | a run and a death; whether a future completed or was cancelled is not known |
//!
//! So the waits of nested async functions with `#[instrument]` form a chain, and the innermost of them is the
//! cause. Since a layer sees neither wakers nor leaf futures, the trace does not say whether a span was woken,
//! and the line of each wait is that of its span. `ctp_nostd::TracedExt::traced` records both; for a task
//! with a span, [`traced_in`](TracedSpanExt::traced_in) does so under the name of the span, without this layer.
//!
//! To record only some spans, as those of tasks, add a filter of `tracing-subscriber`:
//! ```
//! # use tracing_subscriber::{Registry, filter::filter_fn, layer::Layer};
//! # fn layer() -> impl Layer<Registry> {
//! ctp_tracing::layer().with_filter(filter_fn(|metadata| metadata.name() == "connection"))
//! # }
//! ```
//!
//! Each span takes an allocation, with or without a recorder.

mod call_sites;
mod entered;
mod layer;
mod span_task;
mod traced_in;

pub use ctp_nostd::attach;
pub use layer::{SpanLayer, layer};
pub use traced_in::TracedSpanExt;
