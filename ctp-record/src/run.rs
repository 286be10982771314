//! Does what a configuration requests.

use crate::attach;
use crate::check;
use crate::cli::config::{Config, Mode};
use crate::cli::print;
use crate::cli::stderr;
use crate::control::client;
use crate::error::Error;
use crate::image;
use crate::inspection;
use crate::live;
use crate::session::recording;

/// Runs the task. Returns the exit status. For a launched program, this is the program's status, or 128+n if signal n
/// ended the program.
///
/// # Errors
/// [`Error`], if there is nothing to record or writing failed.
pub fn run(config: &Config) -> Result<u8, Error> {
    match &config.mode {
        Mode::Launch(launch) => recording::record(config, launch),
        Mode::CheckProbe(launch) => check::check(launch),
        Mode::Image(image) => image::read(config, image),
        Mode::Follow(image) => live::follow(config, image),
        Mode::Gdb(server) => live::attach(config, server),
        Mode::Inspect(inspect, launch) => attach::record(config, inspect, launch),
        Mode::Core(core) => inspection::core_file::record(config, core),
        Mode::Control(command) => print::print(&client::request(command)?),
        Mode::Completions(shell) => print::print_completions(*shell),
        Mode::Man => print::print_man_page(),
        Mode::ManPages(directory) => print::write_man_pages(directory),
    }
}

/// Prints an error.
pub fn print_error(error: &Error) {
    stderr::say(&format!("ctp-record: {error}\n"));
}
