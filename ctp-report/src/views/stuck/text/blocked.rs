//! What coroutines wait for that go on only after others.

use std::collections::BTreeSet;

use crate::text;
use crate::views::stuck::model::Group;

/// `id 3, which is stuck`: those after which these go on.
pub fn roots(groups: &[&Group]) -> String {
    let roots: BTreeSet<u32> = groups
        .iter()
        .flat_map(|it| it.evidence.roots.iter().copied())
        .collect();
    let roots: Vec<u32> = roots.into_iter().collect();
    match roots[..] {
        [root] => format!("id {root}, which is stuck"),
        _ => format!("ids {}, which are stuck", text::few(&roots)),
    }
}
