//! Shortens the names of a column so that names that differ still differ.

use std::collections::{BTreeMap, BTreeSet};

use super::{columns, cut_middle};

/// Stands for parts that were left out.
const MORE: &str = "..";

/// Shortens the texts to at most `width` columns: each loses its leading folders or modules, or the middle
/// if that is not enough. `None` if two texts that differ would look the same.
pub fn shortened(texts: &[&str], width: usize) -> Option<Vec<String>> {
    let distinct: BTreeSet<&str> = texts.iter().copied().collect();
    let mut short: BTreeMap<&str, String> = BTreeMap::new();
    let mut used = BTreeSet::new();
    for text in distinct {
        let found = forms(text).find(|form| columns(form) <= width);
        let found = found.unwrap_or_else(|| cut_middle(text, width));
        if !used.insert(found.clone()) {
            return None;
        }
        short.insert(text, found);
    }
    let all = texts.iter().map(|text| short.get(text).cloned());
    all.collect()
}

/// The text, then the text without its first part, without two parts, and so on.
fn forms(text: &str) -> impl Iterator<Item = String> {
    let starts = text
        .match_indices(['/', ':'])
        .filter_map(|(at, separator)| {
            let rest = &text[at + separator.len()..];
            match separator {
                "/" if !rest.is_empty() => Some(at),
                ":" if text[..at].ends_with(':') && !rest.is_empty() => Some(at - 1),
                _ => None,
            }
        });
    // Type arguments and traits are kept whole.
    let is_simple = !text.contains(['<', ' ']);
    let shorter = starts.filter(move |_| is_simple);
    std::iter::once(text.to_owned()).chain(shorter.map(|at| format!("{MORE}{}", &text[at..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_parts_are_left_out() {
        let short = shortened(&["orders::pool::Pool::get", "a"], 16);
        assert_eq!(short.unwrap(), ["..::Pool::get", "a"]);
        let short = shortened(&["examples/src/bin/lost_wakeup.rs:88"], 24);
        assert_eq!(short.unwrap(), ["../bin/lost_wakeup.rs:88"]);
    }

    #[test]
    fn texts_that_differ_stay_different() {
        let texts = ["orders::Pool::get", "users::Pool::get"];
        assert_eq!(shortened(&texts, 12), None);
        assert_eq!(
            shortened(&["a::b::get", "a::b::get"], 7).unwrap(),
            ["..::get"; 2]
        );
        assert_eq!(
            shortened(&["name_of_a", "name_of_b"], 7).unwrap(),
            ["na..f_a", "na..f_b"]
        );
        assert_eq!(shortened(&["a_middle_z", "a_muddle_z"], 6), None);
    }
}
