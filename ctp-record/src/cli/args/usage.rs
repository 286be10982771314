//! Parsing of the command line, and messages about wrong usage.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use ctp_trace::escape::{escaped, escaped_bytes};

use super::Args;
use crate::cli::stderr;

/// The command line for clap. If typed text must be escaped, messages have no styles: their escape sequences could not
/// be distinguished from typed sequences.
pub fn command() -> Command {
    if is_typed_unsafe() {
        Args::command().styles(Styles::plain())
    } else {
        Args::command()
    }
}

fn is_typed_unsafe() -> bool {
    let mut words = std::env::args_os();
    words.any(|word| matches!(escaped_bytes(word.as_bytes()), Cow::Owned(_)))
}

/// Prints the error or the requested help. Returns the exit status.
pub fn print_error_or_help(mut error: clap::Error) -> u8 {
    if is_typed_unsafe() && error.use_stderr() {
        escape_context(&mut error);
        stderr::say(&error.render().ansi().to_string());
    } else {
        // If printing fails, only the exit status reports the error.
        let _ = error.print();
    }
    error.exit_code() as u8
}

/// Escapes the typed text in an error.
fn escape_context(error: &mut clap::Error) {
    let context: Vec<_> = error
        .context()
        .map(|(kind, context_value)| (kind, context_value.clone()))
        .collect();
    for (kind, value) in context {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(escaped(&text).into_owned()),
            ContextValue::Strings(all) => {
                let all = all.iter().map(|text| escaped(text).into_owned());
                ContextValue::Strings(all.collect())
            }
            other => other,
        };
        error.insert(kind, value);
    }
}

/// Parses a command line. Options end at the program's name or at `--`; all later words belong to the program
/// unchanged.
///
/// # Errors
/// Wrong usage. `--help` and `--version` are reported as errors, too.
pub fn parse(words: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut command = command();
    // The subcommand is recognized only as the first word: elsewhere the word is an argument.
    let is_control = words.get(1).is_some_and(|word| word == "control");
    let matches = command.try_get_matches_from_mut(words);
    let matches = matches.map_err(|error| match unknown_option(&error) {
        Some(option) if !is_control => advised(error, &option),
        _ => error,
    })?;
    Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn unknown_option(error: &clap::Error) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option.clone()),
        _ => None,
    }
}

/// Adds tips about an unknown option.
fn advised(mut error: clap::Error, option: &str) -> clap::Error {
    let mut tips = Vec::new();
    if let Some(similar) = error.remove(ContextKind::SuggestedArg) {
        tips.push(format!("did you mean '{similar}'?"));
    }
    tips.push(format!(
        "to run a program of that name: ctp-record -- {}",
        escaped(option)
    ));
    let tips = tips.into_iter().map(StyledStr::from).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}
