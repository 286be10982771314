//! Names of coroutines, each stored once.

use std::collections::HashMap;
use std::sync::Arc;

/// Number of a name; the default is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

impl NameId {
    /// Index of the name in the list. The empty name gets an index outside the list.
    fn index(self) -> usize {
        (self.0 as usize).wrapping_sub(1)
    }
}

/// The common part of numbered names: `conn-` of `conn-17`. A name that is only a number has no stem and
/// stays whole.
pub fn stem(name: &str) -> &str {
    match name.trim_end_matches(|last: char| last.is_ascii_digit()) {
        "" => name,
        stem => stem,
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<Arc<str>>,
    /// The stem of each name, in the same order.
    stems: Vec<NameId>,
    ids: HashMap<Arc<str>, NameId>,
}

impl Names {
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        if name.is_empty() {
            return NameId::default();
        }
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let kept: Arc<str> = name.into();
        self.list.push(Arc::clone(&kept));
        self.stems.push(NameId::default());
        let id = NameId(u32::try_from(self.list.len()).unwrap_or(0));
        self.ids.insert(kept, id);
        let stem = match stem(name) {
            stem if stem == name => id,
            stem => self.intern(stem),
        };
        if let Some(place) = self.stems.get_mut(id.index()) {
            *place = stem;
        }
        id
    }

    /// The common part of all names that differ from this name only in their number.
    pub(super) fn stem(&self, name: NameId) -> NameId {
        let stem = self.stems.get(name.index());
        stem.copied().unwrap_or_default()
    }

    pub(super) fn get(&self, id: NameId) -> &str {
        self.list.get(id.index()).map_or("", |name| name)
    }
}
