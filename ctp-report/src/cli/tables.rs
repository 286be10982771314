//! The options of exports into a folder, which are tables and the Common Trace Format.

use std::path::PathBuf;

use ctp_trace::record::Nanos;

use super::options::exchange::{ExchangeArgs, ExportFormat};
use crate::config::ignore::Ignore;
use crate::config::{CtfView, StuckView, TableFormat, TablesView};
use crate::output;

/// Rejects a missing output, and a format that this build does not have.
///
/// # Errors
/// The text for the user.
pub(super) fn check_output(exchange: &ExchangeArgs) -> Result<(), &'static str> {
    let Some(target) = exchange.export.filter(|target| target.has_folder()) else {
        return Ok(());
    };
    if target != ExportFormat::Ctf {
        format(target)?;
    }
    if output_of(exchange).is_none() {
        return Err(match target {
            ExportFormat::Sqlite => "--export sqlite writes a database: name the file with -o FILE",
            ExportFormat::Ctf => "--export ctf writes a folder: name it with -o DIR",
            _ => "an export as tables writes a folder: name it with -o DIR",
        });
    }
    Ok(())
}

/// The view, if an export as tables was requested.
pub(super) fn tables_view(exchange: &ExchangeArgs, threshold: Nanos) -> Option<TablesView> {
    Some(TablesView {
        format: format(exchange.export?).ok()?,
        output: output_of(exchange)?,
        judged: judged(threshold),
    })
}

/// The view, if an export in the Common Trace Format was requested.
pub(super) fn ctf_view(exchange: &ExchangeArgs, threshold: Nanos) -> Option<CtfView> {
    let is_requested = exchange.export == Some(ExportFormat::Ctf);
    is_requested.then_some(CtfView {
        output: output_of(exchange)?,
        judged: judged(threshold),
    })
}

fn judged(threshold: Nanos) -> StuckView {
    StuckView {
        threshold,
        fail: false,
        all_ids: true,
        ignore: Ignore::default(),
        markdown: None,
    }
}

/// The folder or file, which cannot be standard output.
fn output_of(exchange: &ExchangeArgs) -> Option<PathBuf> {
    let path = exchange.output.clone();
    path.filter(|path| !output::is_stdout(path))
}

fn format(target: ExportFormat) -> Result<TableFormat, &'static str> {
    match target {
        ExportFormat::CsvTables => Ok(TableFormat::Csv),
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => Ok(TableFormat::Parquet),
        #[cfg(feature = "sqlite")]
        ExportFormat::Sqlite => Ok(TableFormat::Sqlite),
        #[cfg(not(feature = "parquet"))]
        ExportFormat::Parquet => {
            Err("this build has no Parquet: build ctp-report with the feature `parquet`")
        }
        #[cfg(not(feature = "sqlite"))]
        ExportFormat::Sqlite => {
            Err("this build has no SQLite: build ctp-report with the feature `sqlite`")
        }
        _ => Err("not a format of tables"),
    }
}

impl ExportFormat {
    /// Whether the output is a folder or a database, and not a stream of bytes.
    fn has_folder(self) -> bool {
        matches!(
            self,
            ExportFormat::Parquet
                | ExportFormat::Sqlite
                | ExportFormat::CsvTables
                | ExportFormat::Ctf
        )
    }
}
