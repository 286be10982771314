//! The command `ctp-record`: parses the arguments, and exits with the status that the library `ctp_record` returns. The
//! library does the work.

use std::process::ExitCode;

use ctp_record::{Args, print_error, print_error_or_help, run};

fn main() -> ExitCode {
    let config = match Args::from_command_line().and_then(Args::into_config) {
        Ok(config) => config,
        Err(error) => return ExitCode::from(print_error_or_help(error)),
    };
    match run(&config) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            print_error(&error);
            ExitCode::from(error.status())
        }
    }
}
