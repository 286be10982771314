//! The layer, which records what happens to spans.

use std::sync::{Mutex, PoisonError};

use tracing::Subscriber;
use tracing::span::{Attributes, Id};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::call_sites::CallSites;
use crate::entered;
use crate::span_task::SpanTask;

/// Records spans as coroutines. [`layer`] makes it.
#[derive(Debug)]
pub struct SpanLayer {
    call_sites: CallSites,
}

/// A layer that records spans as coroutines. Only spans that are created while the layer is installed are
/// recorded. [`attach`](crate::attach) must be called first.
pub fn layer() -> SpanLayer {
    SpanLayer {
        call_sites: CallSites::default(),
    }
}

/// What the layer keeps with a span. A task may move between threads, but not be shared by them.
type Kept = Mutex<SpanTask>;

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let metadata = attributes.metadata();
        let line = self.call_sites.line_of(metadata);
        let parent = span.parent().map(|parent| parent.id().into_u64());
        let task = SpanTask::born(metadata.name(), line, parent);
        span.extensions_mut().replace(Kept::new(task));
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        with_task(id, &context, |task| {
            if task.enter() {
                entered::enter(id.into_u64(), task.id());
            }
        });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        with_task(id, &context, |task| {
            if task.exit() {
                let awaited = entered::exit(id.into_u64(), task.parent(), task.id());
                task.suspend(awaited);
            }
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id);
        let kept = span.and_then(|span| span.extensions_mut().remove::<Kept>());
        if let Some(kept) = kept {
            let task = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
            entered::close(task.id());
            task.close();
        }
    }
}

/// Calls `act` with the task of a span, unless the span was created without the layer.
fn with_task<S>(id: &Id, context: &Context<'_, S>, act: impl FnOnce(&mut SpanTask))
where
    S: Subscriber + for<'s> LookupSpan<'s>,
{
    let Some(span) = context.span(id) else {
        return;
    };
    let mut extensions = span.extensions_mut();
    if let Some(kept) = extensions.get_mut::<Kept>() {
        act(kept.get_mut().unwrap_or_else(PoisonError::into_inner));
    }
}
