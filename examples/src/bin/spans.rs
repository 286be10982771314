//! A program that knows nothing of ctp but the layer: its async functions have spans, as those of many services.
//! Twelve connections each await a query; three of the queries wait for an answer whose sender is kept, and never
//! sends.
//!
//! At the end, the program prints what it did with its spans, counted by a layer of its own.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::span::{Attributes, Id};
use tracing::{Instrument as _, Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How often spans of a name were created, entered, exited and closed.
static COUNTS: Mutex<BTreeMap<&str, [u32; 4]>> = Mutex::new(BTreeMap::new());

struct Counter;

impl Counter {
    fn count<S>(id: &Id, context: &Context<'_, S>, what: usize)
    where
        S: Subscriber + for<'s> LookupSpan<'s>,
    {
        let name = context.span(id).expect("the span exists").name();
        let mut counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
        counts.entry(name).or_default()[what] += 1;
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Counter {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        Counter::count(id, &context, 0);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        Counter::count(id, &context, 1);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        Counter::count(id, &context, 2);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        Counter::count(&id, &context, 3);
    }
}

async fn query(number: u64) {
    let (sender, answer) = oneshot::channel::<()>();
    for _ in 0..number {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    if number.is_multiple_of(4) {
        std::mem::forget(sender);
    } else {
        let _ = sender.send(());
    }
    let _ = answer.await;
}

async fn connection(number: u64) {
    info_span!("greeting").in_scope(|| std::hint::black_box(number));
    query(number).instrument(info_span!("query")).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

fn main() {
    ctp_tracing::attach();
    let layers = tracing_subscriber::registry().with(ctp_tracing::layer());
    layers.with(Counter).init();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        for number in 1..=12 {
            tokio::spawn(connection(number).instrument(info_span!("connection")));
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    });
    let counts = COUNTS.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, [created, entered, exited, closed]) in &*counts {
        println!("{name} {created} {entered} {exited} {closed}");
    }
    drop(counts);
    // Without destructors, so that what waits is left as it is.
    std::process::exit(0);
}
