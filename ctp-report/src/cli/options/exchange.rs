//! The options of imports and exports.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ctp_trace::record::Nanos;

use super::VIEWS;
use crate::cli::tables;
use crate::config::{
    ExportView, Format, ProfileFormat, ProfileView, TrackFormat, TracksView, View,
};
use crate::output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Import and export")]
pub(in crate::cli) struct ExchangeArgs {
    /// Run of an imported file to read, counted from 1; by default the last
    #[arg(long, value_name = "N")]
    pub(in crate::cli) run: Option<usize>,
    /// Write the trace for other tools
    #[arg(help_heading = VIEWS, long, value_name = "FORMAT", conflicts_with_all = ["ViewArgs", "flame", "folded", "timeline", "json"])]
    pub(in crate::cli) export: Option<ExportFormat>,
    /// File to export to, instead of standard output; for parquet, csv-tables and ctf a folder, to which each
    /// export adds a trace
    #[arg(short, long, value_name = "FILE")]
    pub(in crate::cli) output: Option<PathBuf>,
}

impl ExchangeArgs {
    /// The requested export.
    pub(in crate::cli) fn into_view(self, threshold: Nanos) -> Option<View> {
        if let Some(tables) = tables::tables_view(&self, threshold) {
            return Some(View::Tables(tables));
        }
        if let Some(ctf) = tables::ctf_view(&self, threshold) {
            return Some(View::Ctf(ctf));
        }
        let output = self.output.filter(|path| !output::is_stdout(path));
        Some(match self.export? {
            ExportFormat::Jsonl => View::Export(ExportView {
                format: Format::Jsonl,
                output,
            }),
            ExportFormat::Csv => View::Export(ExportView {
                format: Format::Csv,
                output,
            }),
            ExportFormat::Chrome => tracks(TrackFormat::Chrome, threshold, output),
            ExportFormat::Perfetto => tracks(TrackFormat::Perfetto, threshold, output),
            ExportFormat::Firefox => tracks(TrackFormat::Firefox, threshold, output),
            ExportFormat::Otlp => tracks(TrackFormat::Otlp, threshold, output),
            ExportFormat::Speedscope => profile(ProfileFormat::Speedscope, output),
            ExportFormat::Pprof => profile(ProfileFormat::Pprof, output),
            ExportFormat::Parquet
            | ExportFormat::Sqlite
            | ExportFormat::CsvTables
            | ExportFormat::Ctf => return None,
        })
    }
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExportFormat {
    /// Events with the six columns of coroTracer, a JSON object per line
    Jsonl,
    /// The same columns as comma-separated values, with a header line
    Csv,
    /// A track for each coroutine and thread, with wakes as arrows and stuck coroutines marked, for
    /// Perfetto, chrome://tracing and speedscope
    Chrome,
    /// The same tracks for Perfetto alone, stuck coroutines first, in a file that is far smaller
    Perfetto,
    /// Time spent waiting and running by await chain, for speedscope
    Speedscope,
    /// Waits and runs by await chain, with their number and time, for go tool pprof
    Pprof,
    /// Markers of coroutines and threads, for Firefox Profiler; kept in memory
    Firefox,
    /// A span for each coroutine and wait, as JSON lines of OpenTelemetry
    Otlp,
    /// Eight tables for SQL and data frames, as Parquet files in a folder of the dataset -o DIR
    Parquet,
    /// The same tables as an SQLite database -o FILE
    Sqlite,
    /// The same tables as comma-separated values in a folder of the dataset -o DIR
    CsvTables,
    /// Every event in the Common Trace Format 2, for babeltrace2, in a folder of the dataset -o DIR
    Ctf,
}

fn tracks(format: TrackFormat, threshold: Nanos, output: Option<PathBuf>) -> View {
    View::Tracks(TracksView {
        format,
        threshold,
        output,
    })
}

fn profile(format: ProfileFormat, output: Option<PathBuf>) -> View {
    View::Profile(ProfileView { format, output })
}
