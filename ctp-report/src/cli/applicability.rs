//! Rejects options that the requested view would ignore.
//!
//! Clap's `requires` is not enough: clap skips this check if the required option conflicts with
//! another option on the command line.

use clap::ArgMatches;
use clap::parser::ValueSource;

/// Stands for the table of sites, which no option selects.
const SITES: &str = "";

/// The views that show only selected coroutines and tasks.
const FILTERED: [&str; 17] = [
    SITES,
    "top",
    "stuck",
    "stacks",
    "last_words",
    "tree",
    "why",
    "histogram",
    "dump",
    "markdown",
    "html",
    "flame",
    "folded",
    "timeline",
    "export",
    "check",
    "deny",
];

/// Options, and the views that use them.
type Applicability = (&'static [&'static str], &'static [&'static str]);

const APPLICABILITIES: [Applicability; 12] = [
    (&["fields", "percent_limit", "allow"], &[SITES]),
    (&["sort", "limit"], &[SITES, "top"]),
    (&["once", "pid", "interval", "group"], &["top"]),
    (
        &["threshold"],
        &[
            "stuck", "top", "stacks", "timeline", "tree", "why", "markdown", "html", "check",
        ],
    ),
    (&["fail"], &["stuck", "markdown"]),
    (&["ignore"], &["stuck", "top", "markdown", "html", "check"]),
    (&["junit"], &["check", "deny"]),
    (
        &["site", "name", "id", "thread", "state", "time"],
        &FILTERED,
    ),
    (
        &["ids"],
        &["stuck", "stacks", "last_words", "tree", "why", "markdown"],
    ),
    (&["by"], &["flame", "folded"]),
    (&["title"], &["flame", "timeline", "html"]),
    (&["output"], &["export"]),
];

/// Options that select a view other than the table of sites.
const VIEWS: [&str; 16] = [
    "stuck",
    "top",
    "check",
    "deny",
    "stacks",
    "last_words",
    "tree",
    "why",
    "histogram",
    "dump",
    "markdown",
    "html",
    "flame",
    "folded",
    "timeline",
    "export",
];

/// Rejects options that the requested view ignores.
pub(super) fn reject_ignored(given: &ArgMatches) -> Result<(), clap::Error> {
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    for (options, views) in APPLICABILITIES {
        let is_used = views.iter().any(|view| match *view {
            SITES => !VIEWS.iter().any(|view| is_given(view)),
            view => is_given(view),
        });
        let ignored = options.iter().find(|option| is_given(option));
        if let Some(option) = ignored.filter(|_| !is_used) {
            let message = format!("{} is only for {}", flag(option), list_of(views));
            return Err(super::conflict(&message));
        }
    }
    Ok(())
}

fn flag(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

/// Formats `--stuck, --tree and --why`.
fn list_of(views: &[&str]) -> String {
    let name = |view: &&str| match *view {
        SITES => "the table of sites".to_owned(),
        view => flag(view),
    };
    let flags: Vec<String> = views.iter().map(name).collect();
    match &flags[..] {
        [] => String::new(),
        [text] => text.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_entries_name_existing_options() {
        let command = crate::cli::command();
        let is_known = |id: &&str| {
            command
                .get_arguments()
                .any(|get_argument| get_argument.get_id() == *id)
        };
        let rules = || APPLICABILITIES.into_iter();
        let words = rules().flat_map(|(options, views)| options.iter().chain(views));
        let words = words.chain(&VIEWS).filter(|word| **word != SITES);
        assert!({ words }.all(is_known));
    }

    // Each option is for a view, for the table of sites, or for all views.
    #[test]
    fn all_options_have_an_entry() {
        let of_all = [
            "input",
            "trace",
            "json",
            "site",
            "name",
            "id",
            "thread",
            "state",
            "time",
            "quiet",
            "verbose",
            "color",
            "width",
            "wide",
            "no_pager",
            "run",
            "symfs",
            "debug_dir",
            "skip",
            "max_module",
            "max_memory",
            "help",
            "version",
            "completions",
            "man",
        ];
        for argument in crate::cli::command().get_arguments() {
            let id = argument.get_id().as_str();
            let is_ruled = APPLICABILITIES
                .iter()
                .any(|(options, _)| options.contains(&id));
            assert!(
                is_ruled || VIEWS.contains(&id) || of_all.contains(&id),
                "which views use {id}?"
            );
        }
    }
}
