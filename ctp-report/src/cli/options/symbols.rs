//! The options of symbols.

use std::path::PathBuf;

use clap::Args;
use regex_lite::Regex;
use symbolize::SearchPaths;

use crate::cli::values;

/// The options of [`SymbolArgs`], which views without names ignore.
pub(super) const SYMBOLS: [&str; 4] = ["symfs", "debug_dir", "skip", "max_module"];

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Symbols")]
pub(in crate::cli) struct SymbolArgs {
    /// Look for programs, sources and debug info in this directory, by path or by name
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) symfs: Option<PathBuf>,
    /// Also look for separate debug info here, as in /usr/lib/debug; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) debug_dir: Vec<PathBuf>,
    /// For waits in functions that match, by name or file:line, name the caller; may be repeated
    #[arg(long, value_name = "REGEX")]
    pub(in crate::cli) skip: Vec<Regex>,
    /// Memory limit for all programs and their debug info, like 1G; by default 256M
    #[arg(long, value_name = "SIZE", value_parser = values::parse_size)]
    pub(in crate::cli) max_module: Option<u64>,
}

impl SymbolArgs {
    pub(in crate::cli) fn are_given(&self) -> bool {
        let is_elsewhere = self.symfs.is_some() || !self.debug_dir.is_empty();
        is_elsewhere || self.max_module.is_some() || !self.skip.is_empty()
    }

    pub(in crate::cli) fn into_search_paths(self) -> SearchPaths {
        let search_paths = self
            .symfs
            .map_or_else(SearchPaths::recorded, SearchPaths::below);
        let directories = self.debug_dir.into_iter();
        let search_paths = directories.fold(search_paths, SearchPaths::with_debug_directory);
        match self.max_module {
            Some(bytes) => search_paths.with_max_bytes(bytes),
            None => search_paths,
        }
    }
}
