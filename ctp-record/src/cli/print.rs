//! Prints answers, the man page and completions on stdout, and writes man pages as files. Every function returns the
//! exit status.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use clap_complete::Shell;
use ctp_trace::escape::escaped_lines;

use crate::cli::args;
use crate::error::Error;

/// Prints these lines, with everything escaped that a terminal would act on.
///
/// # Errors
/// [`Error::Print`].
pub fn print(lines: &str) -> Result<u8, Error> {
    print_unchanged(escaped_lines(lines).as_bytes())
}

/// Prints text. A reader that closes the pipe early is no error.
fn print_unchanged(text: &[u8]) -> Result<u8, Error> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Error::Print(error)),
        _ => Ok(0),
    }
}

/// Prints a completion script.
///
/// # Errors
/// [`Error::Print`].
pub fn print_completions(shell: Shell) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ctp-record", &mut script);
    print_unchanged(&script)
}

/// Prints the man page.
///
/// # Errors
/// [`Error::Print`].
pub fn print_man_page() -> Result<u8, Error> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(args::command()).render(&mut page);
    rendered.map_err(Error::Print)?;
    print_unchanged(&page)
}

/// Writes the man pages of the program and its subcommands to a directory.
///
/// # Errors
/// [`Error::ManPages`].
pub fn write_man_pages(directory: &Path) -> Result<u8, Error> {
    clap_mangen::generate_to(args::command(), directory)
        .map(|()| 0)
        .map_err(|error| Error::ManPages(directory.to_owned(), error))
}
