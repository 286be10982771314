//! Finds the sites of a trace in another trace.

use std::collections::BTreeMap;

use crate::views::diff::profile::{Profile, SiteIdentity};
use crate::views::diff::series::Series;

/// A site of one or both traces.
pub struct SitePair<'p> {
    /// The site in the trace before.
    pub before: Option<(&'p SiteIdentity, &'p Series)>,
    /// The site in the trace after.
    pub after: Option<(&'p SiteIdentity, &'p Series)>,
}

impl<'p> SitePair<'p> {
    /// The site, by its newest place.
    pub fn identity(&self) -> Option<&'p SiteIdentity> {
        let newest = self.after.or(self.before);
        newest.map(|(identity, _)| identity)
    }
}

/// All sites. A site has the same identity in both traces. If a part of the identity differs and no other
/// site could be meant, this is also the same site: its line moved, or names are missing in a trace.
pub fn pairs<'p>(before: &'p Profile, after: &'p Profile) -> Vec<SitePair<'p>> {
    let mut pairs: BTreeMap<&SiteIdentity, SitePair> = BTreeMap::new();
    for site in &before.sites {
        let (before, after) = (Some(site), None);
        pairs.insert(site.0, SitePair { before, after });
    }
    for site in &after.sites {
        let before = None;
        let pair = pairs.entry(site.0).or_insert(SitePair {
            before,
            after: None,
        });
        pair.after = Some(site);
    }
    let keys = [
        SiteIdentity::without_line,
        SiteIdentity::without_functions,
        SiteIdentity::without_file,
    ];
    keys.into_iter().fold(pairs.into_values().collect(), join)
}

/// Joins a site that is only before with a site that is only after, if no other site has the same key.
fn join(all: Vec<SitePair>, key: fn(&SiteIdentity) -> SiteIdentity) -> Vec<SitePair> {
    let (mut pairs, single): (Vec<SitePair>, Vec<SitePair>) = all
        .into_iter()
        .partition(|pair| pair.before.is_some() && pair.after.is_some());
    let mut groups: BTreeMap<SiteIdentity, Vec<SitePair>> = BTreeMap::new();
    for pair in single {
        let key = pair.identity().map(key).unwrap_or_default();
        groups.entry(key).or_default().push(pair);
    }
    for group in groups.into_values() {
        match &group[..] {
            [first, second] if first.before.is_some() != second.before.is_some() => {
                pairs.push(SitePair {
                    before: first.before.or(second.before),
                    after: first.after.or(second.after),
                })
            }
            _ => pairs.extend(group),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::diff::profile::ProfileFacts;

    fn profile(sites: &[(&str, u32)]) -> Profile {
        let sites = sites.iter().map(|(function, line)| {
            let identity = SiteIdentity {
                function: (*function).to_owned(),
                file: Some("main.rs".to_owned()),
                line: Some(*line),
                ..SiteIdentity::default()
            };
            (identity, Series::new())
        });
        Profile {
            sites: sites.collect(),
            about: ProfileFacts::default(),
        }
    }

    /// The lines of each pair.
    fn lines(before: &[(&str, u32)], after: &[(&str, u32)]) -> Vec<[Option<u32>; 2]> {
        let (before, after) = (profile(before), profile(after));
        let pairs = pairs(&before, &after);
        let line = |site: Option<(&SiteIdentity, &Series)>| site.and_then(|site| site.0.line);
        let mut lines: Vec<_> = pairs
            .iter()
            .map(|pair| [line(pair.before), line(pair.after)])
            .collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn sites_are_found_by_place() {
        let all = [("read", 7), ("write", 9)];
        assert_eq!(lines(&all, &all), [[Some(7); 2], [Some(9); 2]]);
        let found = lines(&all, &[("read", 7), ("write", 12), ("flush", 9)]);
        assert_eq!(found, [[None, Some(9)], [Some(7); 2], [Some(9), Some(12)]]);
    }

    #[test]
    fn missing_names_do_not_hide_sites() {
        let named = profile(&[("read", 7), ("write", 9)]);
        let mut unnamed = profile(&[]);
        for (identity, series) in profile(&[("read", 7), ("write", 9)]).sites {
            let function = "task".to_owned();
            unnamed.sites.insert(
                SiteIdentity {
                    function,
                    ..identity
                },
                series,
            );
        }
        let pairs = pairs(&unnamed, &named);
        let functions = pairs.iter().map(|pair| {
            let function = |site: (&SiteIdentity, &Series)| site.0.function.clone();
            [pair.before, pair.after].map(|site| site.map(function).unwrap_or_default())
        });
        let mut functions: Vec<[String; 2]> = functions.collect();
        functions.sort();
        assert_eq!(functions, [["task", "read"], ["task", "write"]]);
    }

    #[test]
    fn ambiguous_lines_are_not_moved() {
        let before = [("read", 7), ("read", 9)];
        let found = lines(&before, &[("read", 8), ("read", 9)]);
        assert_eq!(found, [[Some(7), Some(8)], [Some(9); 2]]);
        let found = lines(&before, &[("read", 8)]);
        assert_eq!(found, [[None, Some(8)], [Some(7), None], [Some(9), None]]);
    }
}
