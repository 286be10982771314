//! The options of flame graphs and timelines.

use std::path::PathBuf;

use clap::Args;
use ctp_trace::record::Nanos;

use super::VIEWS;
use crate::config::{FlameView, FlameWidth, TimelineView, View};
use crate::output;

#[derive(Debug, Args)]
#[command(next_help_heading = "Flame graph")]
pub(in crate::cli) struct FlameArgs {
    /// Write a flame graph of waits to this file (- for standard output); with --stacks, of the stacks
    #[arg(
        help_heading = VIEWS,
        long,
        value_name = "FILE",
        conflicts_with_all = ["stuck", "last_words", "tree", "why", "histogram", "dump"]
    )]
    pub(in crate::cli) flame: Option<PathBuf>,
    /// Write the folded stacks of the flame graph to this file (- for standard output)
    #[arg(help_heading = VIEWS, long, value_name = "FILE", conflicts_with = "ViewArgs")]
    pub(in crate::cli) folded: Option<PathBuf>,
    /// What the width of a flame means
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "wait",
        conflicts_with = "stacks"
    )]
    pub(in crate::cli) by: FlameWidth,
    /// Title of the flame graph or timeline
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) title: Option<String>,
}

impl FlameArgs {
    /// The requested files. With `json`, JSON replaces folded stacks on standard output.
    pub(in crate::cli) fn into_view(self, json: bool) -> Option<View> {
        let is_requested = self.flame.is_some() || self.folded.is_some();
        is_requested.then(|| {
            View::Flame(FlameView {
                svg: self.flame,
                folded: self
                    .folded
                    .filter(|path| !(json && output::is_stdout(path))),
                by: self.by,
                title: self.title,
            })
        })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Timeline")]
pub(in crate::cli) struct TimelineArgs {
    /// Write a timeline to this file (- for standard output): a row for each coroutine or for a
    /// sample of them
    #[arg(help_heading = VIEWS, long, value_name = "FILE", conflicts_with_all = ["ViewArgs", "flame", "folded", "json"])]
    pub(in crate::cli) timeline: Option<PathBuf>,
}

impl TimelineArgs {
    pub(in crate::cli) fn into_view(self, threshold: Nanos, title: Option<String>) -> Option<View> {
        Some(View::Timeline(TimelineView {
            svg: self.timeline?,
            threshold,
            title,
        }))
    }
}
