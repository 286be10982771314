//! Names, each kept once however many coroutines bear it.

use std::collections::HashMap;

/// Number of a name; the default is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    list: Vec<String>,
    ids: HashMap<String, NameId>,
}

impl Names {
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        if name.is_empty() {
            return NameId::default();
        }
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        self.list.push(name.to_owned());
        let id = NameId(u32::try_from(self.list.len()).unwrap_or(0));
        self.ids.insert(name.to_owned(), id);
        id
    }

    pub(super) fn get(&self, id: NameId) -> &str {
        let index = (id.0 as usize).checked_sub(1);
        index
            .and_then(|index| self.list.get(index))
            .map_or("", String::as_str)
    }
}
