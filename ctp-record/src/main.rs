//! `ctp-record`: see the library of the same name, or `ctp-record --help`.

use std::process::ExitCode;

use ctp_record::{Args, answer, complain, run};

fn main() -> ExitCode {
    let config = match Args::from_command_line().and_then(Args::into_config) {
        Ok(config) => config,
        Err(error) => return ExitCode::from(answer(error)),
    };
    match run(&config) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain(&error);
            ExitCode::from(error.status())
        }
    }
}
