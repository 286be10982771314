//! The names of coroutines. Many coroutines share a name and a spawn site, and a name takes longer to format than the
//! rest of a row.

use ctp_trace::hash::Map;
use ctp_trace::model::{Coroutine, GroupKey};

use super::About;
use crate::text::escape;

/// Maximum number of names that are kept.
const MAX_NAMES: usize = 1024;

/// The names of the latest groups of coroutines with the same name and spawn site.
#[derive(Default)]
pub struct CoroutineNames(Map<GroupKey, CoroutineName>);

/// The name of a coroutine.
pub struct CoroutineName {
    /// The name as on the pages.
    pub displayed: String,
    /// The name that the program gave, if it gave one.
    pub given: Option<String>,
}

impl CoroutineNames {
    /// The name of a coroutine.
    pub fn of(&mut self, about: About<'_>, coroutine: &Coroutine) -> &CoroutineName {
        let key = coroutine.group_key();
        if self.0.len() == MAX_NAMES && !self.0.contains_key(&key) {
            self.0.clear();
        }
        let entry = self.0.entry(key);
        entry.or_insert_with(|| CoroutineName::of(about, coroutine))
    }
}

impl CoroutineName {
    fn of(about: About<'_>, coroutine: &Coroutine) -> Self {
        let given = about.model.trace_model.name(coroutine.name);
        CoroutineName {
            displayed: about.names.of_coroutine(about.model, coroutine),
            given: (!given.is_empty()).then(|| escape(given)),
        }
    }
}
