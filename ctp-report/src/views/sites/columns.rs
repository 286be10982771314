//! The columns of the table of sites.

use crate::config::{SiteField, SitesView};
use crate::text::table::{Alignment, Column};
use crate::text::units;
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
        SiteField::Share => ("share", Alignment::Right),
        SiteField::Coroutines => ("coroutines", Alignment::Right),
        SiteField::Waits => ("waits", Alignment::Right),
        SiteField::Open => ("open", Alignment::Right),
        SiteField::Mean => ("mean", Alignment::Right),
        SiteField::P50 => ("p50", Alignment::Right),
        SiteField::P99 => ("p99", Alignment::Right),
        SiteField::Max => ("max", Alignment::Right),
        SiteField::Stddev => ("stddev", Alignment::Right),
        SiteField::Waited => ("waited", Alignment::Right),
        SiteField::Run => ("run", Alignment::Right),
        SiteField::Resource => ("waits for", Alignment::Left),
        SiteField::Name => ("name", Alignment::Left),
        SiteField::Function if by_name => ("name", Alignment::Left),
        SiteField::Function => ("function", Alignment::Left),
        SiteField::Site if by_name => ("spawned at", Alignment::Left),
        SiteField::Site => ("site", Alignment::Left),
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
        SiteField::Name => row.given.clone().unwrap_or_default(),
        SiteField::Function => function.to_owned(),
        SiteField::Site => row.at(),
    }
}
