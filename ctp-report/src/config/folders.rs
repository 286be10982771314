//! What the user has requested of an export into a folder or a database.

use std::path::PathBuf;

use crate::config::StuckView;

/// Output and format of exported tables.
#[derive(Clone, Debug)]
pub struct TablesView {
    /// The format.
    pub format: TableFormat,
    /// The folder or the file.
    pub output: PathBuf,
    /// What to judge as stuck.
    pub judged: StuckView,
}

/// Output in the Common Trace Format.
#[derive(Clone, Debug)]
pub struct CtfView {
    /// The folder.
    pub output: PathBuf,
    /// What to judge as stuck.
    pub judged: StuckView,
}

/// Formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// A folder of a dataset, with comma-separated values.
    Csv,
    /// A folder of a dataset, with Parquet files.
    #[cfg(feature = "parquet")]
    Parquet,
    /// An SQLite database.
    #[cfg(feature = "sqlite")]
    Sqlite,
}
