//! `ctp-report`: reads a trace and reports what is stuck, where, for how long and on what.
#![forbid(unsafe_code)]

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use ctp_report::pager::Pager;
use ctp_report::{Config, ReportStatus, cli};
use ctp_trace::escape::escaped;

fn main() -> ExitCode {
    let config = match cli::parse(std::env::args_os()) {
        Ok(config) => config,
        Err(usage) => return usage.exit_code(),
    };
    ctp_report::end_when_too_large();
    match run(&config) {
        Ok(ReportStatus::Fine) => ExitCode::SUCCESS,
        Ok(ReportStatus::CheckFailed) => ExitCode::from(3),
        Ok(ReportStatus::Incomplete(why)) => {
            complain(&why);
            ExitCode::from(4)
        }
        Err(error) if ctp_report::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Prints an error. If standard error is closed, only the exit status reports it.
fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "ctp-report: {}", escaped(what));
}

fn run(config: &Config) -> anyhow::Result<ReportStatus> {
    let pager = Pager::prepare().filter(|_| config.has_pager);
    let out: Box<dyn Write> = match pager {
        Some(pager) => Box::new(pager),
        None => Box::new(io::stdout().lock()),
    };
    // Whether the output has colours depends on standard output, also if a pager is in between.
    let color = match config.color {
        // Other choices remove or replace bytes.
        _ if config.view.is_binary() => ColorChoice::AlwaysAnsi,
        ColorChoice::Auto => AutoStream::choice(&io::stdout()),
        chosen => chosen,
    };
    let mut out = BufWriter::new(AutoStream::new(out, color));
    let status = ctp_report::run(config, &mut out)?;
    out.flush()?;
    Ok(status)
}
