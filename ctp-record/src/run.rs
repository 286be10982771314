//! From what was asked for to who does it.

use crate::check;
use crate::cli::config::{Config, Task};
use crate::cli::print;
use crate::cli::stderr;
use crate::control::ask;
use crate::error::Error;
use crate::image;
use crate::session::recording;

/// Does what was asked for. The exit status is the program's, 128+n if signal n ended it.
///
/// # Errors
/// [`Error`], when there is nothing to record or it could not be written.
pub fn run(config: &Config) -> Result<u8, Error> {
    match &config.task {
        Task::Launch(launch) => recording::record(config, launch),
        Task::CheckProbe(launch) => check::check(launch),
        Task::Image(image) => image::read(config, image),
        Task::Control(ask) => print::print(&ask::ask(ask)?),
        Task::Completions(shell) => print::completions(*shell),
        Task::Man => print::man_page(),
    }
}

/// Says why there is nothing, or not everything.
pub fn complain(error: &Error) {
    stderr::say(&format!("ctp-record: {error}\n"));
}
