//! Displayed texts of coroutines and places, kept because events repeat them.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, NameId};
use ctp_trace::record::SiteId;

use crate::load::Model;
use crate::names::Names;

/// How many texts of a kind are kept. This bounds the memory.
const MAX_TEXTS: usize = 1 << 16;

/// The texts of a trace.
pub struct Texts<'a> {
    model: &'a Model,
    names: &'a Names,
    coroutines: Cache<(NameId, SiteId), Rc<str>>,
    places: Cache<(NameId, SiteId), Rc<str>>,
    lines: Cache<SiteId, Option<Rc<str>>>,
}

impl<'a> Texts<'a> {
    /// Creates the texts of a trace. None is formatted yet.
    pub fn new(model: &'a Model, names: &'a Names) -> Self {
        Texts {
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

/// Texts by the ids from which they follow.
struct Cache<K, T>(RefCell<Map<K, T>>);

impl<K, T> Default for Cache<K, T> {
    fn default() -> Self {
        Cache(RefCell::default())
    }
}

impl<K: Eq + Hash, T: Clone> Cache<K, T> {
    /// The text for a key. Removes all other texts if there are too many.
    fn get(&self, key: K, format: impl FnOnce() -> T) -> T {
        let mut texts = self.0.borrow_mut();
        if MAX_TEXTS <= texts.len() {
            texts.clear();
        }
        texts.entry(key).or_insert_with(format).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_formatted_once_and_memory_is_bounded() {
        let cache = Cache::default();
        assert_eq!(cache.get(SiteId(1), || "first"), "first");
        assert_eq!(cache.get(SiteId(1), || "second"), "first");
        for site in 2..=MAX_TEXTS as u32 {
            cache.get(SiteId(site), || "more");
        }
        assert_eq!(cache.get(SiteId(1), || "again"), "again");
        assert_eq!(cache.0.borrow().len(), 1);
    }
}
