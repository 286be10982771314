//! The columns of the table of sites.

use crate::config::{SiteField, SitesView};
use crate::text::table::{self, Column, Side};
use crate::text::{self, units};
use crate::views::sites::model::Row;

/// The columns without `--fields`.
const USUAL: [SiteField; 7] = [
    SiteField::Share,
    SiteField::Coroutines,
    SiteField::Waits,
    SiteField::Mean,
    SiteField::Max,
    SiteField::Function,
    SiteField::Site,
];

/// The index of the column before which the usual columns have that of given names.
const FUNCTION: usize = 5;

/// The maximum width of the column of given names.
const MAX_NAME: usize = 14;

/// The requested columns. The usual columns include names only if a row has a given name.
pub fn fields(view: &SitesView, rows: &[Row]) -> Vec<SiteField> {
    if !view.fields.is_empty() {
        return view.fields.clone();
    }
    let mut fields = USUAL.to_vec();
    if rows.iter().any(|row| row.given.is_some()) {
        fields.insert(FUNCTION, SiteField::Name);
    }
    fields
}

/// The heading and alignment of a column.
pub fn column(field: SiteField, by_name: bool) -> Column {
    match field {
        SiteField::Share => ("share", Side::Right),
        SiteField::Coroutines => ("coroutines", Side::Right),
        SiteField::Waits => ("waits", Side::Right),
        SiteField::Open => ("open", Side::Right),
        SiteField::Mean => ("mean", Side::Right),
        SiteField::P50 => ("p50", Side::Right),
        SiteField::P99 => ("p99", Side::Right),
        SiteField::Max => ("max", Side::Right),
        SiteField::Stddev => ("stddev", Side::Right),
        SiteField::Waited => ("waited", Side::Right),
        SiteField::Run => ("run", Side::Right),
        SiteField::Resource => ("waits for", Side::Left),
        SiteField::Name => ("name", Side::Left),
        SiteField::Function if by_name => ("name", Side::Left),
        SiteField::Function => ("function", Side::Left),
        SiteField::Site if by_name => ("spawned at", Side::Left),
        SiteField::Site => ("site", Side::Left),
    }
}

/// The text of a row in a column. `function` distinguishes the row from others of the same function.
pub fn cell(field: SiteField, row: &Row, function: &str) -> String {
    let times = &row.times;
    let known = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), units::duration_ns);
    let measured = |ns: u64| known(times.measured.then_some(ns));
    match field {
        SiteField::Share => {
            let caveat = if row.exact { "" } else { "~" };
            format!("{caveat}{:.2}%", row.share)
        }
        SiteField::Coroutines => units::grouped(row.coroutines),
        SiteField::Waits => units::grouped(row.events),
        SiteField::Open => units::grouped(row.open),
        SiteField::Mean => measured(times.mean_ns),
        SiteField::P50 => known(times.p50_ns),
        SiteField::P99 => known(times.p99_ns),
        SiteField::Max => measured(times.max_ns),
        SiteField::Stddev => known(times.stddev_ns),
        SiteField::Waited => measured(times.waited_ns),
        SiteField::Run => measured(times.ran_ns),
        SiteField::Resource => row.waits_for.to_owned(),
        SiteField::Name => text::cut(row.given.as_deref().unwrap_or_default(), MAX_NAME),
        SiteField::Function => function.to_owned(),
        SiteField::Site => row.at(),
    }
}

/// Shortens functions and places so that the table fits. Figures are never shortened.
pub fn fit(fields: &[SiteField], columns: &[Column], cells: &mut [Vec<String>]) {
    let at = |field| fields.iter().position(|found| *found == field);
    let places: Vec<usize> = [SiteField::Function, SiteField::Site]
        .into_iter()
        .filter_map(at)
        .collect();
    let room = table::room_for(&places, columns, cells);
    match places[..] {
        [function, site] => {
            let width = |i: usize| table::width(columns[i].0, cells, i);
            let left = (room * 2 / 5).max(room.saturating_sub(width(site)));
            let left = width(function).min(left);
            cut(cells, function, left);
            cut(cells, site, room.saturating_sub(left));
        }
        [only] => cut(cells, only, room),
        _ => {}
    }
}

fn cut(cells: &mut [Vec<String>], column: usize, width: usize) {
    for row in cells {
        row[column] = text::cut_middle(&row[column], width);
    }
}
