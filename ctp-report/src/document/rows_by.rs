//! What the rows of a table are of: places, or the names of coroutines.

use serde::Serialize;

use crate::load::Model;

/// What each row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RowsBy {
    /// A place where coroutines wait.
    Site,
    /// All coroutines of one name.
    Name,
}

impl RowsBy {
    /// By name where the trace has totals in place of events.
    pub fn totals(has_totals: bool) -> Self {
        if has_totals {
            RowsBy::Name
        } else {
            RowsBy::Site
        }
    }

    /// What the rows of the table of sites are of.
    pub fn of_sites(model: &Model) -> Self {
        RowsBy::totals(model.is_by_name())
    }
}
