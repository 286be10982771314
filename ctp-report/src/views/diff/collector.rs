//! Collects the waits and runs of a trace by site and name, while the trace is read.

use std::collections::HashMap;

use ctp_trace::hash::Map;
use ctp_trace::model::{Activity, NameId, Span, TraceModel};
use ctp_trace::record::{SiteId, WaitKind};
use ctp_trace::verdict::State;

use crate::names::label::numbered;
use crate::views::diff::sample::Sampled;
use crate::views::diff::series::Series;

/// How many sites are compared. Each takes up to 30 kilobytes, and a trace may have any number of sites.
const MAX_SITES: usize = 2000;

/// The site of a wait, the kind of wait, and the number of the coroutine's name in [`Collector::names`].
type Key = (SiteId, WaitKind, u32);

/// The waits and runs so far.
#[derive(Default)]
pub struct Collector {
    series: Vec<(Key, Series)>,
    places: Map<Key, usize>,
    names: Names,
    /// Waits at sites beyond [`MAX_SITES`].
    pub left_out: u64,
}

/// Names of coroutines, with a `*` for a number at the end. Names that differ in this number only are one
/// name.
#[derive(Default)]
struct Names {
    texts: Vec<String>,
    by_text: HashMap<String, u32>,
    by_id: Map<NameId, u32>,
}

impl Names {
    fn number(&mut self, trace_model: &TraceModel, id: NameId) -> u32 {
        if let Some(number) = self.by_id.get(&id) {
            return *number;
        }
        let text = numbered(trace_model.name(id));
        // There are at most as many names as coroutines, of which the ids have 32 bits.
        let next = self.texts.len() as u32;
        let number = *self.by_text.entry(text.clone()).or_insert(next);
        if number == next {
            self.texts.push(text);
        }
        self.by_id.insert(id, number);
        number
    }
}

impl Collector {
    /// Takes a span that has ended, after the trace model did.
    pub fn add(&mut self, trace_model: &TraceModel, span: &Span) {
        let Some(coroutine) = trace_model.get(span.coroutine) else {
            return;
        };
        let is_cancelled = coroutine.state().0 != State::Running;
        let (site, wait) = match span.activity {
            Activity::Waiting(..) if is_cancelled => return,
            Activity::Waiting(site, wait) | Activity::Running(Some((site, wait))) => (site, wait),
            Activity::Running(None) => return,
        };
        let name = self.names.number(trace_model, coroutine.name);
        let is_wait = matches!(span.activity, Activity::Waiting(..));
        let Some(series) = self.series_of((site, wait, name)) else {
            self.left_out += u64::from(is_wait);
            return;
        };
        let length_ns = span.length().0;
        if is_wait {
            let at_ns = span.to.0;
            series.add_wait(Sampled { at_ns, length_ns });
        } else {
            series.add_run(length_ns);
        }
    }

    fn series_of(&mut self, key: Key) -> Option<&mut Series> {
        let place = match self.places.get(&key) {
            Some(place) => *place,
            None if MAX_SITES <= self.series.len() => return None,
            None => {
                self.places.insert(key, self.series.len());
                self.series.push((key, Series::new()));
                self.series.len() - 1
            }
        };
        self.series.get_mut(place).map(|(_, series)| series)
    }

    /// All series, each with the site, the kind of wait, and the name of the coroutines.
    pub fn finish(self) -> impl Iterator<Item = (SiteId, WaitKind, String, Series)> {
        let texts = self.names.texts;
        let all = self.series.into_iter();
        all.map(move |((site, wait, name), series)| {
            (site, wait, texts[name as usize].clone(), series)
        })
    }
}
