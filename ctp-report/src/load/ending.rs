//! How a recording ended, in words.

use ctp_trace::record::Ending;

use crate::load::Model;

/// How the recording of a trace ended, in words; a snapshot is taken of one that goes on.
pub fn how_it_ended(model: &Model) -> String {
    match model.census.window() {
        Some(window) if window.goes_on => "it goes on (a snapshot)".to_owned(),
        _ if model.goes_on => "it goes on (still recorded)".to_owned(),
        _ => ended(model.ending()),
    }
}

fn ended(ending: Option<Ending>) -> String {
    match ending {
        Some(Ending::Exited(status)) => format!("exit {status}"),
        Some(Ending::Signalled(signal)) => signal_name(signal),
        Some(Ending::Stopped) => "recorder stopped".to_owned(),
        Some(Ending::Image) => "memory image".to_owned(),
        _ => "recorder did not finish".to_owned(),
    }
}

/// What a signal is called.
pub fn signal_name(signal: i32) -> String {
    let index = usize::try_from(signal).unwrap_or_default();
    match SIGNALS.get(index) {
        None | Some(&"") => format!("signal {signal}"),
        Some(name) => format!("SIG{name}"),
    }
}

/// Those that end a process unless it handles them, by their numbers on Linux.
const SIGNALS: [&str; 32] = [
    "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "", "", "", "", "", "", "", "XCPU", "XFSZ", "VTALRM", "PROF",
    "", "IO", "PWR", "SYS",
];
