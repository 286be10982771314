//! Wrong usage, and what is said of it.

use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, FromArgMatches as _};

use super::Args;

const NO_ATTACHING: &str = "\
a process that runs already cannot be recorded; start the program under the recorder:
ctp-record -- PROGRAM [ARGS]...";

/// The command line as clap knows it.
pub fn command() -> Command {
    Args::command()
}

/// Takes a command line apart. Options end at the program's name, or at `--`: what comes then is
/// the program's, byte for byte.
///
/// # Errors
/// Usage; the help and the version are such errors too.
pub fn parse(words: Vec<OsString>) -> Result<Args, clap::Error> {
    let mut command = command();
    // The subcommand is known by its place: anywhere else the word is an argument.
    let is_control = words.get(1).is_some_and(|word| word == "control");
    let matches = command.try_get_matches_from_mut(words);
    let matches = matches.map_err(|error| match unknown_option(&error) {
        Some(option) if !is_control => advised(error, &option, &mut command),
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

/// Says what may have been meant by an option that the recorder does not have.
fn advised(mut error: clap::Error, option: &str, command: &mut Command) -> clap::Error {
    if ["-p", "--pid"].contains(&option) {
        return command.error(ErrorKind::UnknownArgument, NO_ATTACHING);
    }
    let mut tips = Vec::new();
    if let Some(similar) = error.remove(ContextKind::SuggestedArg) {
        tips.push(format!("did you mean '{similar}'?"));
    }
    tips.push(format!(
        "to run a program of that name: ctp-record -- {option}"
    ));
    let tips = tips.into_iter().map(StyledStr::from).collect();
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}
