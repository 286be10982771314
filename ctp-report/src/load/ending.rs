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
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        16 => "SIGSTKFLT",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        26 => "SIGVTALRM",
        27 => "SIGPROF",
        29 => "SIGIO",
        30 => "SIGPWR",
        31 => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}
