//! The sentence of the page about each coroutine.

use std::collections::BTreeMap;
use std::rc::Rc;

use ctp_trace::verdict::Verdict;

use super::{cycles, order, reasons, sections, unknown_sections, why_unknown};
use crate::views::stuck::model::Group;
use crate::views::stuck::model::deadlocks::Deadlock;

/// Returns the sentences, each with the ids of the coroutines that it is about. A coroutine of several
/// cycles is in the first of them.
pub fn sentences(groups: &[Group], deadlocks: &[Deadlock]) -> BTreeMap<u32, Rc<str>> {
    let mut found = BTreeMap::new();
    for deadlock in deadlocks {
        let sentence: Rc<str> = cycles::why(deadlock).into();
        for link in &deadlock.cycle {
            found.entry(link.id).or_insert_with(|| Rc::clone(&sentence));
        }
    }
    for section in order(groups)
        .iter()
        .flat_map(|verdict| sections(groups, *verdict))
    {
        note(&mut found, &section, &reasons::section(&section));
    }
    for section in unknown_sections(groups)
        .iter()
        .filter(|section| !section.is_empty())
    {
        note(&mut found, section, &why_unknown(section));
    }
    for group in super::of(groups, Verdict::Waiting) {
        note(&mut found, &[group], &reasons::detail(group));
    }
    found
}

fn note(found: &mut BTreeMap<u32, Rc<str>>, section: &[&Group], sentence: &str) {
    let sentence: Rc<str> = sentence.into();
    for id in section.iter().flat_map(|group| &group.members.ids) {
        found.entry(*id).or_insert_with(|| Rc::clone(&sentence));
    }
}
