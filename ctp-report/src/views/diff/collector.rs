//! Collects the waits and runs of a trace by site and name, while the trace is read.

use std::collections::HashMap;

use ctp_trace::hash::Map;
use ctp_trace::model::{NameId, Span, SpanActivity, TraceModel};
use ctp_trace::record::{SiteId, WaitKind};
use ctp_trace::verdict::State;

use crate::names::label::numbered;
use crate::views::diff::sample::SampledDuration;
use crate::views::diff::series::Series;

/// How many sites are compared, since a trace may have any number of sites. Each takes up to 46 kilobytes: 30
/// for the histogram and 16 for the sample.
const MAX_SITES: usize = 2000;

/// The site of a wait, the kind of wait, and the number of the coroutine's name in [`SpanCollector::names`].
type Key = (SiteId, WaitKind, u32);

/// The waits and runs so far.
#[derive(Default)]
pub struct SpanCollector {
    series: Vec<(Key, Series)>,
    places: Map<Key, usize>,
    names: CoroutineNames,
    /// Waits at sites beyond [`MAX_SITES`].
    pub left_out: u64,
}

/// Names of coroutines, with a `*` for a number at the end. Names that differ in this number only are one
/// name.
#[derive(Default)]
struct CoroutineNames {
    texts: Vec<String>,
    by_text: HashMap<String, u32>,
    /// The number of each name, or `None` if there was no room when the name was first seen.
    by_id: Map<NameId, Option<u32>>,
}

impl CoroutineNames {
    /// The number of a name. A name takes up to 1 MiB, so a new name is not kept without `has_room`.
    fn number(&mut self, trace_model: &TraceModel, id: NameId, has_room: bool) -> Option<u32> {
        if let Some(number) = self.by_id.get(&id) {
            return *number;
        }
        let text = numbered(trace_model.name(id));
        let known = self.by_text.get(&text).copied();
        let number = known.or_else(|| has_room.then(|| self.keep(text)));
        self.by_id.insert(id, number);
        number
    }

    fn keep(&mut self, text: String) -> u32 {
        // There are at most as many names as sites.
        let number = self.texts.len() as u32;
        self.by_text.insert(text.clone(), number);
        self.texts.push(text);
        number
    }
}

impl SpanCollector {
    /// Takes a span that has ended, after the trace model did.
    pub fn add(&mut self, trace_model: &TraceModel, span: &Span) {
        let Some(coroutine) = trace_model.get(span.coroutine) else {
            return;
        };
        let is_cancelled = coroutine.state().0 != State::Running;
        let (site, wait) = match span.activity {
            SpanActivity::Waiting(..) if is_cancelled => return,
            SpanActivity::Waiting(site, wait) | SpanActivity::Running(Some((site, wait))) => {
                (site, wait)
            }
            SpanActivity::Running(None) => return,
        };
        let has_room = self.series.len() < MAX_SITES;
        let name = self.names.number(trace_model, coroutine.name, has_room);
        let is_wait = matches!(span.activity, SpanActivity::Waiting(..));
        let series = name.and_then(|name| self.series_of((site, wait, name)));
        let Some(series) = series else {
            self.left_out += u64::from(is_wait);
            return;
        };
        let length_ns = span.length().0;
        if is_wait {
            let at_ns = span.to.0;
            series.add_wait(SampledDuration { at_ns, length_ns });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_room_are_not_kept() {
        let (trace_model, id) = (TraceModel::new(), NameId::default());
        let mut names = CoroutineNames::default();
        assert_eq!(names.number(&trace_model, id, false), None);
        assert!(names.texts.is_empty() && names.by_text.is_empty());
        let mut names = CoroutineNames::default();
        assert_eq!(names.number(&trace_model, id, true), Some(0));
        assert_eq!(names.number(&trace_model, id, false), Some(0));
    }
}
