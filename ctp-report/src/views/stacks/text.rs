//! The page of `--stacks`.

use std::io;

use super::model::{StackGroup, Stacks};
use crate::config::StacksView;
use crate::text::{self, Page, units};

/// Writes all groups.
pub fn page(page: &mut Page, stacks: &Stacks, view: &StacksView) -> io::Result<()> {
    stacks
        .groups
        .iter()
        .try_for_each(|group| write(page, group, view))
}

fn write(page: &mut Page, group: &StackGroup, view: &StacksView) -> io::Result<()> {
    let count = units::counted(group.ids.len() as u64, group.kind);
    let name = &group.name;
    page.line(&format!("{count}  {name}: {}", group.state))?;
    let ids: Vec<String> = if view.all_ids {
        group.ids.iter().map(u32::to_string).collect()
    } else {
        vec![text::few(&group.ids)]
    };
    let what = if group.kind == "thread" { "tid" } else { "ids" };
    page.list(&format!("   {what} "), "       ", ", ", &ids)?;
    if !group.notes.is_empty() {
        page.list("   ", "   ", "; ", &group.notes)?;
    }
    if group.branches.is_empty() {
        page.line("   (no stack)")?;
    }
    for (number, branch) in group.branches.iter().enumerate() {
        if 0 < number {
            page.line("   and beside that")?;
        }
        for (at, frame) in branch.iter().enumerate() {
            page.line(&format!("   #{at:<3}{frame}"))?;
        }
    }
    page.gap()
}
