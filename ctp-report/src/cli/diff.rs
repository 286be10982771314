//! The subcommand `diff`.

use std::path::PathBuf;

use clap::{Command, FromArgMatches as _, Parser};

use ctp_trace::record::Nanos;

use super::general::GeneralArgs;
use super::options::filter::FilterArgs;
use super::options::symbols::SymbolArgs;
use super::values;
use crate::config::filter::TimeSelects;
use crate::config::ignore::Ignore;
use crate::config::{Config, DiffView, LeastChange, View};
use crate::terminal;

/// The word that selects the subcommand.
pub(super) const NAME: &str = "diff";

const EXAMPLES: &str = "\
Examples:
  ctp-report diff before.ctp after.ctp          which waits became longer or shorter
  ctp-report diff --min-change 5 a.ctp b.ctp    also small changes
  ctp-report diff --flame f.svg a.ctp b.ctp     the same as a flame graph, coloured by the change
  ctp-report diff --site db --time 5s, a b      only waits of some coroutines, after the start
  ctp-report diff --json a.ctp b.ctp            all sites of both traces, for a program

The median and the 99th percentile of the waits at each site are compared, by the name of the coroutines. A
change is listed if its interval leaves out all changes that --min-change and --min-time ignore. Of all
listed changes, about 1 % at most are expected to be noise, however many sites there are.";

#[derive(Debug, Parser)]
#[command(
    name = NAME,
    about = "Compares two recordings: which waits changed by more than noise",
    after_help = EXAMPLES,
    max_term_width = 100
)]
struct DiffArgs {
    /// Trace to compare with
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Trace to compare
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Ignore changes of at most this many percent
    #[arg(long, value_name = "PERCENT", default_value = "20", value_parser = values::parse_percent)]
    min_change: f64,
    /// Ignore changes of at most this time, which depend on the load of the machine
    #[arg(long, value_name = "DURATION", default_value = "50us")]
    min_time: Nanos,
    /// Also write a flame graph of the waiting time after to this file (- for standard output, instead of
    /// the page): red where it is longer than before, blue where it is shorter
    #[arg(long, value_name = "FILE")]
    flame: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    symbols: SymbolArgs,
    #[command(flatten)]
    general: GeneralArgs,
}

/// The subcommand.
pub(super) fn command() -> Command {
    <DiffArgs as clap::CommandFactory>::command()
}

/// The configuration, from what was given to the subcommand.
///
/// # Errors
/// If the command line is invalid.
pub(super) fn config(given: &clap::ArgMatches) -> Result<Config, clap::Error> {
    let DiffArgs {
        before,
        after,
        min_change,
        min_time,
        flame,
        filter,
        mut symbols,
        general,
    } = DiffArgs::from_arg_matches(given)?;
    Ok(Config {
        input: before.clone(),
        run: None,
        skip: Ignore(std::mem::take(&mut symbols.skip)),
        max_module: symbols.max_module,
        max_memory: general.max_memory,
        search_paths: symbols.into_search_paths(),
        view: View::Diff(DiffView {
            before,
            after,
            least: LeastChange {
                share: min_change / 100.0,
                time: min_time,
            },
            flame,
        }),
        filter: filter.into_filter(TimeSelects::Ends),
        json: general.json,
        detail: general.detail(),
        color: general.color(),
        width: general.width(),
        has_links: terminal::is_capable(),
        has_pager: !general.no_pager && terminal::is_capable(),
    })
}
