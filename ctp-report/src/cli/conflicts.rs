//! Rejects options that contradict each other. Options that a view ignores are rejected before, by
//! `applicability`.

use std::path::Path;

use clap::error::ErrorKind;

use super::options::exchange::ExportFormat;
use super::{Cli, command, conflict, sort, tables};
use crate::config::{Sort, TopSort};
use crate::output;

impl Cli {
    /// Rejects options that contradict each other.
    ///
    /// # Errors
    /// The first contradiction.
    pub(super) fn check(self) -> Result<Self, clap::Error> {
        self.check_trace()?;
        self.check_stdout()?;
        self.check_rows()?;
        self.check_why()?;
        self.check_time()?;
        self.check_sort()?;
        self.check_top()?;
        tables::check_output(&self.exchange).map_err(conflict)?;
        Ok(self)
    }

    /// Suggests `--stuck` for `ctp-report stuck`, if no file has this name.
    fn check_trace(&self) -> Result<(), clap::Error> {
        let Some(word) = self.trace.as_deref().filter(|path| !path.exists()) else {
            return Ok(());
        };
        if command()
            .get_arguments()
            .any(|argument| argument.get_long().map(Path::new) == Some(word))
        {
            let word = word.display();
            let message = format!("no file {word} here; did you mean --{word}?");
            return Err(command().error(ErrorKind::InvalidValue, message));
        }
        Ok(())
    }

    /// Rejects options that `jsonl` and `csv` ignore: these formats have all events, and no names.
    fn check_rows(&self) -> Result<(), clap::Error> {
        let is_rows = matches!(
            self.exchange.export,
            Some(ExportFormat::Jsonl | ExportFormat::Csv)
        );
        let text =
            "--symfs, --debug-dir and --max-module find names, which jsonl and csv do not contain";
        if is_rows && self.symbols.are_given() && !self.filter.has_patterns() {
            Err(conflict(text))
        } else {
            Ok(())
        }
    }

    /// Rejects `--why` without an id or a filter, which would explain everything, and with both.
    fn check_why(&self) -> Result<(), clap::Error> {
        let text = match self.view.why {
            None => return Ok(()),
            Some(None) if self.filter.are_given() => return Ok(()),
            Some(None) => "--why needs an id, or filters such as --state stuck",
            Some(Some(_)) if self.filter.are_given() => {
                "--why takes an id or filters: leave out the id, or give --id instead"
            }
            Some(Some(_)) if self.stuck.ids => {
                "--ids is only for --why with filters, not with an id"
            }
            Some(Some(_)) => return Ok(()),
        };
        Err(conflict(text))
    }

    /// Rejects `--time` with rules that have no time, and with lints, which look at whole lives.
    fn check_time(&self) -> Result<(), clap::Error> {
        if self.check.has_lints() && self.filter.has_time() {
            return Err(conflict(
                "--time does not apply to --deny: lints look at whole coroutines",
            ));
        }
        match self.check.timeless_rule() {
            Some(rule) if self.filter.has_time() => Err(conflict(&format!(
                "--time does not apply to the rule `{rule}`: check this rule without --time"
            ))),
            _ => Ok(()),
        }
    }

    /// Rejects columns that the table does not have.
    fn check_sort(&self) -> Result<(), clap::Error> {
        let words = &self.sites.sort;
        let text = if self.view.top {
            let several = || (1 < words.len()).then(|| "--top sorts by one column".to_owned());
            let unknown = sort::first_unknown::<TopSort>(words);
            let only = |word| format!("--sort {word} is only for the table of sites");
            unknown.map(only).or_else(several)
        } else {
            let unknown = sort::first_unknown::<Sort>(words);
            unknown.map(|word| format!("--sort {word} is only for --top"))
        };
        text.map_or(Ok(()), |text| Err(conflict(&text)))
    }

    /// Rejects a live table that is no table on a terminal.
    fn check_top(&self) -> Result<(), clap::Error> {
        if !self.view.top || self.top.once {
            return Ok(());
        }
        let text = match self.sites.limit {
            _ if self.general.json => "--top --json needs --once",
            Some(_) => "--limit is only for the table of sites and --top --once",
            None => return Ok(()),
        };
        Err(conflict(text))
    }

    /// Rejects two outputs on standard output, which would run into each other.
    fn check_stdout(&self) -> Result<(), clap::Error> {
        let chart = self.flame.flame.as_deref().is_some_and(output::is_stdout);
        let stacks = self.flame.folded.as_deref().is_some_and(output::is_stdout);
        if chart && (stacks || self.general.json) {
            return Err(conflict(
                "--flame - uses standard output, which another output needs: name a file",
            ));
        }
        Ok(())
    }
}
