//! The line tables of a module, read row by row, and only where a wanted file occurs.

use std::borrow::Cow;
use std::num::NonZeroU64;

use gimli::{LineProgramHeader, LineRow, Unit, UnitRef};

use crate::addr::Svma;
use crate::sections::Reader;
use crate::source_line::{SourceLine, is_same_file};

/// Which rows are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The rows of a wanted line.
    Line,
    /// All rows of the compilation units in which a wanted file occurs.
    Unit,
}

/// Calls `visit` with addresses whose frames may be at some of the wanted lines, and the indices of these lines.
///
/// Units that cannot be read are passed over.
pub(crate) fn visit(
    sections: &gimli::Dwarf<Reader<'_>>,
    requested: &[&SourceLine],
    reach: Reach,
    mut visit: impl FnMut(Svma, &[usize]),
) {
    let mut work = Work(MAX_STEPS);
    let mut headers = sections.units();
    while let Ok(Some(header)) = headers.next()
        && work.is_left()
    {
        if let Ok(unit) = sections.unit(header) {
            // An error ends the rows of this unit; those before it were visited.
            let _ = visit_unit(
                unit.unit_ref(sections),
                requested,
                reach,
                &mut work,
                &mut visit,
            );
        }
    }
}

/// The work that is left. Hostile tables could take forever otherwise.
struct Work(u64);

/// Limit on bytes of paths, comparisons and rows, each weighted by cost: some ten seconds at most.
const MAX_STEPS: u64 = 1 << 32;
/// Finding the frames of a row takes as long as comparing this number of bytes.
const STEPS_PER_ROW: u64 = 512;

impl Work {
    fn is_left(&self) -> bool {
        0 < self.0
    }

    fn spend(&mut self, steps: u64) {
        self.0 = self.0.saturating_sub(steps);
    }
}

fn visit_unit(
    unit: UnitRef<'_, Reader<'_>>,
    requested: &[&SourceLine],
    reach: Reach,
    work: &mut Work,
    visit: &mut impl FnMut(Svma, &[usize]),
) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else {
        return Ok(());
    };
    let files = requested_by_file(unit, program.header(), requested, work);
    let in_unit = union(&files);
    if in_unit.is_empty() {
        return Ok(());
    }
    let mut rows = program.rows();
    while work.is_left()
        && let Some((_, row)) = rows.next_row()?
    {
        work.spend(1);
        let indices = match reach {
            _ if row.end_sequence() => continue,
            Reach::Line => on_line(row, &files, requested),
            Reach::Unit => Cow::Borrowed(&*in_unit),
        };
        if !indices.is_empty() {
            work.spend(STEPS_PER_ROW);
            visit(Svma(row.address()), &indices);
        }
    }
    Ok(())
}

fn on_line(
    row: &LineRow,
    files: &[Vec<usize>],
    requested: &[&SourceLine],
) -> Cow<'static, [usize]> {
    let line = row.line().map_or(0, NonZeroU64::get);
    let file = usize::try_from(row.file_index()).ok();
    let in_file = file.and_then(|file| files.get(file)).into_iter().flatten();
    in_file
        .copied()
        .filter(|index| u64::from(requested[*index].line) == line)
        .collect()
}

/// For each file index of the table, the wanted lines that are in this file.
fn requested_by_file<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    header: &LineProgramHeader<Reader<'i>>,
    requested: &[&SourceLine],
    work: &mut Work,
) -> Vec<Vec<usize>> {
    // Up to version 4 there is no file 0.
    let behind_last = header.file_names().len() as u64 + 1;
    (0..behind_last)
        .map(|file| {
            let Some(path) = path(unit, header, file, work).filter(|_| work.is_left()) else {
                return Vec::new();
            };
            work.spend(path.len() as u64 * requested.len() as u64);
            (0..requested.len())
                .filter(|&index| is_same_file(&requested[index].file, &path))
                .collect()
        })
        .collect()
}

fn union(files: &[Vec<usize>]) -> Vec<usize> {
    let mut all: Vec<usize> = files.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The path of a file: the directory of the compilation, the file's directory and its name, joined.
fn path<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    header: &LineProgramHeader<Reader<'i>>,
    file: u64,
    work: &mut Work,
) -> Option<String> {
    let file = header.file(file).filter(|_| work.is_left())?;
    let mut path = directory_of(&unit);
    // Directory 0 is that of the compilation.
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        push(&mut path, &text(unit, directory, work)?);
    }
    push(&mut path, &text(unit, file.path_name(), work)?);
    Some(path)
}

fn directory_of(unit: &Unit<Reader<'_>>) -> String {
    let directory = unit.comp_dir.as_ref();
    directory.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn text<'i>(
    unit: UnitRef<'_, Reader<'i>>,
    value: gimli::AttributeValue<Reader<'i>>,
    work: &mut Work,
) -> Option<String> {
    match unit.attr_string(value) {
        Ok(text) => {
            work.spend(text.len() as u64);
            Some(text.to_string_lossy().into_owned())
        }
        // The search for the end of the text went through the rest of the section.
        Err(_) => {
            work.spend(MAX_STEPS / 64);
            None
        }
    }
}

fn push(path: &mut String, part: &str) {
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(part);
}
