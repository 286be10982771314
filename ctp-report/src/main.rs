//! `ctp-report`: reads a trace and says what is stuck, where, since when and on what.
#![forbid(unsafe_code)]

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use ctp_report::{Config, Status, cli};
use ctp_trace::escape::escaped;

fn main() -> ExitCode {
    let config = match cli::parse(std::env::args_os()) {
        Ok(config) => config,
        Err(usage) => return usage.exit_code(),
    };
    ctp_report::end_when_too_large();
    match run(&config) {
        Ok(Status::Fine) => ExitCode::SUCCESS,
        Ok(Status::CheckFailed) => ExitCode::from(3),
        Ok(Status::Untold(why)) => {
            // The status says it too, should nobody be left to tell.
            let _ = writeln!(io::stderr(), "ctp-report: {}", escaped(&why.to_string()));
            ExitCode::from(4)
        }
        Err(error) if ctp_report::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if this fails too.
            let _ = writeln!(
                io::stderr(),
                "ctp-report: {}",
                escaped(&format!("{error:#}"))
            );
            ExitCode::FAILURE
        }
    }
}

fn run(config: &Config) -> anyhow::Result<Status> {
    let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), config.color));
    let status = ctp_report::run(config, &mut out)?;
    out.flush()?;
    Ok(status)
}
