//! Displayed texts of coroutines and places, kept because events repeat them.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, NameId};
use ctp_trace::record::SiteId;

use crate::load::Model;
use crate::names::Names;

/// How many texts of a kind are kept, and how many bytes they have, unless a single text has more. This bounds
/// the memory.
const MAX_TEXTS: usize = 1 << 16;
const MAX_BYTES: usize = 4 << 20;

/// The texts of a trace.
pub struct TrackTexts<'a> {
    model: &'a Model,
    names: &'a Names,
    coroutines: Cache<(NameId, SiteId), Rc<str>>,
    places: Cache<(NameId, SiteId), Rc<str>>,
    lines: Cache<SiteId, Option<Rc<str>>>,
}

impl<'a> TrackTexts<'a> {
    /// Creates the texts of a trace. None is formatted yet.
    pub fn new(model: &'a Model, names: &'a Names) -> Self {
        TrackTexts {
            model,
            names,
            coroutines: Cache::default(),
            places: Cache::default(),
            lines: Cache::default(),
        }
    }

    /// The displayed name of a coroutine.
    pub fn coroutine(&self, coroutine: &Coroutine) -> Rc<str> {
        let key = (coroutine.name, coroutine.spawn_site);
        let name = || self.names.of_coroutine(self.model, coroutine).into();
        self.coroutines.get(key, name)
    }

    /// The function and place of a site: `read_frame main.rs:64`.
    pub fn place(&self, coroutine: &Coroutine, site: SiteId) -> Rc<str> {
        let place = || self.names.place_of(self.model, coroutine, site).into();
        self.places.get((coroutine.name, site), place)
    }

    /// File and line of a site, or module and offset.
    pub fn line(&self, site: SiteId) -> Option<Rc<str>> {
        self.lines.get(site, || self.names.at(site).map(Rc::from))
    }
}

/// A text that is kept, or the fact that there is none.
trait CachedText: Clone {
    fn bytes(&self) -> usize;
}

impl CachedText for Rc<str> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl CachedText for Option<Rc<str>> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, CachedText::bytes)
    }
}

/// Texts by the ids from which they follow.
struct Cache<K, T>(RefCell<Cached<K, T>>);

struct Cached<K, T> {
    texts: Map<K, T>,
    /// The bytes of all texts.
    bytes: usize,
}

impl<K, T> Default for Cache<K, T> {
    fn default() -> Self {
        Cache(RefCell::new(Cached {
            texts: Map::default(),
            bytes: 0,
        }))
    }
}

impl<K: Eq + Hash, T: CachedText> Cache<K, T> {
    /// The text for a key. Removes all other texts if there are too many or they are too long.
    fn get(&self, key: K, format: impl FnOnce() -> T) -> T {
        let mut cached = self.0.borrow_mut();
        if let Some(text) = cached.texts.get(&key) {
            return text.clone();
        }
        let text = format();
        cached.add(key, text.clone());
        text
    }
}

impl<K: Eq + Hash, T: CachedText> Cached<K, T> {
    fn add(&mut self, key: K, text: T) {
        let bytes = self.bytes.saturating_add(text.bytes());
        if MAX_TEXTS <= self.texts.len() || MAX_BYTES < bytes {
            self.texts.clear();
            self.bytes = 0;
        }
        self.bytes += text.bytes();
        self.texts.insert(key, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Rc<str> {
        text.into()
    }

    fn count<T>(cache: &Cache<SiteId, T>) -> usize {
        cache.0.borrow().texts.len()
    }

    #[test]
    fn texts_are_formatted_once_and_their_number_is_bounded() {
        let cache = Cache::default();
        assert_eq!(&*cache.get(SiteId(1), || text("first")), "first");
        assert_eq!(&*cache.get(SiteId(1), || text("second")), "first");
        for site in 2..=MAX_TEXTS as u32 {
            cache.get(SiteId(site), || text("more"));
        }
        assert_eq!(count(&cache), MAX_TEXTS);
        cache.get(SiteId(0), || text("too many"));
        assert_eq!(count(&cache), 1);
        assert_eq!(&*cache.get(SiteId(1), || text("again")), "again");
    }

    // CT-21
    #[test]
    fn bytes_of_cached_texts_are_bounded() {
        let cache = Cache::default();
        let quarter = text(&"n".repeat(MAX_BYTES / 4));
        for site in 1..100 {
            cache.get(SiteId(site), || Some(quarter.clone()));
            assert!(count(&cache) <= 4);
            assert_eq!(cache.0.borrow().bytes, count(&cache) * quarter.len());
        }
        assert_eq!(cache.get(SiteId(100), || None), None);
        assert_eq!(count(&cache), 4);
    }
}
