//! Describes how a recording ended.

use ctp_trace::record::ExitReason;

use crate::load::Model;

/// Describes how the recording ended, or that it has not ended: after a snapshot, or while a recorder still
/// writes the file.
pub fn exit_description(model: &Model) -> String {
    match model.trace_model.window() {
        Some(window) if window.goes_on => "not yet (a snapshot)".to_owned(),
        _ if model.goes_on => "not yet (still recorded)".to_owned(),
        _ => ended(model.exit_reason()),
    }
}

fn ended(exit_reason: Option<ExitReason>) -> String {
    match exit_reason {
        Some(ExitReason::Exited(status)) => format!("exit {status}"),
        Some(ExitReason::Signalled(signal)) => signal_name(signal),
        Some(ExitReason::Stopped) => "recorder stopped".to_owned(),
        Some(ExitReason::Image) => "memory image".to_owned(),
        _ => "recorder did not finish".to_owned(),
    }
}

/// The name of a signal.
pub fn signal_name(signal: i32) -> String {
    let index = usize::try_from(signal).unwrap_or_default();
    match SIGNALS.get(index) {
        None | Some(&"") => format!("signal {signal}"),
        Some(name) => format!("SIG{name}"),
    }
}

/// Signals that end a process by default, indexed by their Linux numbers.
const SIGNALS: [&str; 32] = [
    "", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "", "", "", "", "", "", "", "XCPU", "XFSZ", "VTALRM", "PROF",
    "", "IO", "PWR", "SYS",
];
