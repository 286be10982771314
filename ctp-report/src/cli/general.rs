//! The options that all views and subcommands share.

use anstream::ColorChoice;
use clap::Args;

use super::{GENERAL, values};
use crate::config::Detail;
use crate::terminal;
use crate::text::Width;

#[derive(Clone, Debug, Args)]
pub(super) struct GeneralArgs {
    /// Print JSON instead of text
    #[arg(help_heading = GENERAL, long)]
    pub(super) json: bool,
    /// Print no header lines and no hints
    #[arg(help_heading = GENERAL, short, long, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Print more details
    #[arg(help_heading = GENERAL, short, long)]
    pub(super) verbose: bool,
    /// When to use colour (auto: on a terminal, unless NO_COLOR is set)
    #[arg(help_heading = GENERAL, long, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
    /// Wrap lines at this many columns; by default at the width of the terminal, or COLUMNS
    #[arg(help_heading = GENERAL, long, value_name = "COLUMNS", value_parser = values::parse_columns)]
    width: Option<usize>,
    /// Wrap only sentences, and shorten no name, as if the output were not a terminal
    #[arg(help_heading = GENERAL, long, conflicts_with = "width")]
    wide: bool,
    /// Print directly, without CTP_PAGER, PAGER or less
    #[arg(help_heading = GENERAL, long)]
    pub(super) no_pager: bool,
    /// Memory limit, like 2G; by default 256 MiB plus twice the size of the trace
    #[arg(help_heading = GENERAL, long, value_name = "SIZE", value_parser = values::parse_size)]
    pub(super) max_memory: Option<u64>,
}

impl GeneralArgs {
    /// How much to print.
    pub(super) fn detail(&self) -> Detail {
        match (self.quiet, self.verbose) {
            (true, _) => Detail::Quiet,
            (_, true) => Detail::Verbose,
            _ => Detail::Usual,
        }
    }

    /// Whether to colour verdicts.
    pub(super) fn color(&self) -> ColorChoice {
        match self.color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        }
    }

    /// The width of the page.
    pub(super) fn width(&self) -> Width {
        match self.width {
            _ if self.wide => Width::Full,
            Some(columns) => Width::Columns(columns),
            None => terminal::width(),
        }
    }
}
