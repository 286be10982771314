//! Runs the task of a configuration.

use crate::attach;
use crate::check;
use crate::cli::config::{Config, Task};
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
    match &config.task {
        Task::Launch(launch) => recording::record(config, launch),
        Task::CheckProbe(launch) => check::check(launch),
        Task::Image(image) => image::read(config, image),
        Task::Follow(image) => live::follow(config, image),
        Task::Gdb(server) => live::attach(config, server),
        Task::Inspect(inspect, launch) => attach::record(config, inspect, launch),
        Task::Core(core) => inspection::core_file::record(config, core),
        Task::Control(command) => print::print(&client::request(command)?),
        Task::Completions(shell) => print::completions(*shell),
        Task::Man => print::man_page(),
        Task::ManPages(directory) => print::man_pages(directory),
    }
}

/// Prints an error.
pub fn print_error(error: &Error) {
    stderr::say(&format!("ctp-record: {error}\n"));
}
