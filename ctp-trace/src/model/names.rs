//! Names, each kept once however many coroutines bear it.

use std::collections::HashMap;
use std::sync::Arc;

/// Number of a name; the default is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

impl NameId {
    /// Where it is in a list; nowhere if it is the empty name.
    fn index(self) -> usize {
        (self.0 as usize).wrapping_sub(1)
    }
}

/// What numbered names have in common: `conn-` of `conn-17`. A number is no name without itself.
pub fn stem(name: &str) -> &str {
    match name.trim_end_matches(|last: char| last.is_ascii_digit()) {
        "" => name,
        stem => stem,
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<Arc<str>>,
    /// Of each of them, in the same order.
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

    /// What this name has in common with those that differ from it in their number.
    pub(super) fn stem(&self, name: NameId) -> NameId {
        let stem = self.stems.get(name.index());
        stem.copied().unwrap_or_default()
    }

    pub(super) fn get(&self, id: NameId) -> &str {
        self.list.get(id.index()).map_or("", |name| name)
    }
}
