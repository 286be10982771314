//! The page of `--tree`.

use std::io;

use crate::text::table::{Alignment, Column};
use crate::text::{Page, units};
use crate::views::tree::model::FamilyBranch;

const COLUMNS: [Column; 5] = [
    ("alive", Alignment::Right),
    ("stuck", Alignment::Right),
    ("ended", Alignment::Right),
    ("coroutine", Alignment::Left),
    ("spawned at", Alignment::Left),
];

/// How many rows are shown.
const MAX_ROWS: usize = 500;

/// Writes a row for each family, below the row of its parent. With `all_ids`, each row is followed by the
/// ids of the members.
pub fn table(page: &mut Page, tree: &[FamilyBranch], all_ids: bool) -> io::Result<()> {
    let mut lines = lines(tree);
    let more = lines.len().saturating_sub(MAX_ROWS);
    lines.truncate(MAX_ROWS);
    let cells: Vec<Vec<String>> = lines.iter().map(cells).collect();
    page.table(&COLUMNS, &cells, |page, row| {
        if all_ids {
            ids(page, &lines[row].branch.ids)
        } else {
            Ok(())
        }
    })?;
    match more {
        0 => Ok(()),
        more => page.line(&format!("  and {} more rows", units::grouped(more as u64))),
    }
}

/// A family, and the branch lines drawn before its name.
struct TreeLine<'t> {
    tree_lines: String,
    branch: &'t FamilyBranch,
}

/// Flattens the tree, parents before their children.
fn lines(tree: &[FamilyBranch]) -> Vec<TreeLine<'_>> {
    let mut lines = Vec::new();
    for root in tree {
        lines.push(TreeLine {
            tree_lines: String::new(),
            branch: root,
        });
        children(root, "", &mut lines);
    }
    lines
}

/// Adds the descendants of `parent`. `before` is the text before each of their names: spaces, and the
/// vertical lines of ancestors with further children.
fn children<'t>(parent: &'t FamilyBranch, before: &str, lines: &mut Vec<TreeLine<'t>>) {
    for (i, branch) in parent.children.iter().enumerate() {
        let (connector, below) = if i + 1 == parent.children.len() {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        let tree_lines = format!("{before}{connector}");
        lines.push(TreeLine { tree_lines, branch });
        children(branch, &format!("{before}{below}"), lines);
    }
}

fn cells(line: &TreeLine) -> Vec<String> {
    let TreeLine { tree_lines, branch } = line;
    let note = if branch.is_recursive {
        " (spawn each other)"
    } else {
        ""
    };
    vec![
        units::grouped(branch.alive),
        units::grouped(branch.stuck),
        units::grouped(branch.ended),
        format!("{tree_lines}{}{note}", branch.name),
        branch.spawned_at.clone().unwrap_or_default(),
    ]
}

fn ids(page: &mut Page, ids: &[u32]) -> io::Result<()> {
    if ids.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
    let indent = " ".repeat(10);
    page.list(&format!("{indent}ids "), &indent, ", ", &ids)
}

/// Writes what to type next, and how many coroutines have an unknown parent. `tool` is the command
/// with the trace.
pub fn hints(page: &mut Page, tree: &[FamilyBranch], tool: &str, unknown: u64) -> io::Result<()> {
    if unknown > 0 {
        page.gap()?;
        let coroutines = units::counted(unknown, "coroutine");
        page.line(&format!(
            "# unknown parent of {coroutines}: not recorded, or records are missing"
        ))?;
    }
    if lines(tree).iter().all(|line| line.branch.stuck == 0) {
        return Ok(());
    }
    page.gap()?;
    page.line(&format!("# what is stuck, and why: {tool} --stuck"))
}
