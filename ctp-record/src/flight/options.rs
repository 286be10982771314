//! Options of the flight recorder as users type them: how much to keep, and when to take snapshots.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ctp_trace::escape::escaped;
use ctp_trace::record::ExitReason;
use rustix::process::Signal;

use crate::cli::duration::{self, NoDuration};
use crate::cli::size::{self, NoSize};

/// How far back a snapshot goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Keeps what fits into the lanes of threads.
    #[default]
    All,
    /// Keeps what fits into lanes of this many bytes.
    Bytes(u64),
    /// At most this long.
    Length(Duration),
}

/// Why a text is not a [`Reach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadReach {
    /// Neither a duration nor a size.
    Syntax,
    /// A size that is not possible.
    Size(NoSize),
}

impl fmt::Display for BadReach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadReach::Syntax => write!(
                out,
                "neither a duration (500ms, 1.5s, 5min, 1h) nor a size (512K, 64M)"
            ),
            BadReach::Size(why) => write!(out, "{why}"),
        }
    }
}

impl std::error::Error for BadReach {}

impl FromStr for Reach {
    type Err = BadReach;

    fn from_str(text: &str) -> Result<Self, BadReach> {
        if let Ok(length) = duration::parse(text) {
            return Ok(Reach::Length(length));
        }
        if !text.ends_with(['K', 'M', 'G']) {
            return Err(BadReach::Syntax);
        }
        match size::buffer(text) {
            Ok(0) | Err(NoSize::Syntax) => Err(BadReach::Syntax),
            Ok(bytes) => Ok(Reach::Bytes(bytes)),
            Err(why) => Err(BadReach::Size(why)),
        }
    }
}

/// What makes a flight recorder take a snapshot, apart from a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The end of the recording.
    Exit,
    /// The end of a recording if the program failed: its status is not 0.
    ExitNonzero,
    /// A signal to the recorder.
    Signal(Signal),
    /// Coroutines at a place have been stuck for this long.
    Stuck(Duration),
}

/// Why a text is not a [`Trigger`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadTrigger {
    /// The text has no known form.
    Syntax,
    /// The recorder cannot use this signal as a trigger.
    Signal(String),
    /// The text after `stuck:` is not a duration.
    Duration(NoDuration),
}

impl fmt::Display for BadTrigger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadTrigger::Syntax => {
                write!(
                    out,
                    "none of exit, exit:nonzero, signal:NAME, stuck:DURATION"
                )
            }
            BadTrigger::Duration(why) => write!(out, "{why}"),
            BadTrigger::Signal(name) => {
                let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
                write!(
                    out,
                    "{} is no signal that is free for this; these are: {}",
                    escaped(name),
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for BadTrigger {}

/// Signals without another common use. Excludes signals that end or stop a program, and those that the
/// kernel sends after a fault.
const SIGNALS: [(&str, Signal); 6] = [
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
    ("ALRM", Signal::ALARM),
    ("VTALRM", Signal::VTALARM),
    ("PROF", Signal::PROF),
    ("IO", Signal::IO),
];

impl FromStr for Trigger {
    type Err = BadTrigger;

    fn from_str(text: &str) -> Result<Self, BadTrigger> {
        match text.split_once(':') {
            None if text == "exit" => Ok(Trigger::Exit),
            Some(("exit", "nonzero")) => Ok(Trigger::ExitNonzero),
            Some(("signal", name)) => {
                let short = name.strip_prefix("SIG").unwrap_or(name);
                let known = SIGNALS.iter().find(|(known, _)| *known == short);
                let signal = known.map(|(_, signal)| Trigger::Signal(*signal));
                signal.ok_or_else(|| BadTrigger::Signal(name.to_owned()))
            }
            Some(("stuck", length)) => {
                let length = duration::parse(length).map_err(BadTrigger::Duration)?;
                Ok(Trigger::Stuck(length))
            }
            _ => Err(BadTrigger::Syntax),
        }
    }
}

impl Trigger {
    /// Whether this trigger requests a snapshot when the recording ends in this way.
    pub fn is_met_by(self, exit_reason: ExitReason) -> bool {
        match self {
            Trigger::Exit => true,
            Trigger::ExitNonzero => {
                exit_reason != ExitReason::Exited(0) && exit_reason != ExitReason::Stopped
            }
            Trigger::Signal(_) | Trigger::Stuck(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reach_is_a_duration_or_a_size() {
        assert_eq!("30s".parse(), Ok(Reach::Length(Duration::from_secs(30))));
        assert_eq!(
            "500ms".parse(),
            Ok(Reach::Length(Duration::from_millis(500)))
        );
        assert_eq!("5min".parse(), Ok(Reach::Length(Duration::from_secs(300))));
        assert_eq!(
            "1.5s".parse(),
            Ok(Reach::Length(Duration::from_millis(1_500)))
        );
        assert_eq!("64M".parse(), Ok(Reach::Bytes(64 << 20)));
        for text in ["", "0s", "0M", "5m", "30", "M", "-1s", "3 S", "1d"] {
            assert_eq!(text.parse::<Reach>(), Err(BadReach::Syntax), "{text}");
        }
        assert!(matches!("1G".parse::<Reach>(), Err(BadReach::Size(_))));
    }

    #[test]
    fn trigger_is_an_end_a_free_signal_or_a_stuck_time() {
        assert_eq!("exit:nonzero".parse(), Ok(Trigger::ExitNonzero));
        assert_eq!("signal:SIGUSR2".parse(), Ok(Trigger::Signal(Signal::USR2)));
        let two_seconds = Duration::from_secs(2);
        assert_eq!("stuck:2s".parse(), Ok(Trigger::Stuck(two_seconds)));
        let refused = "stuck:2".parse::<Trigger>();
        assert!(matches!(
            refused,
            Err(BadTrigger::Duration(NoDuration::Bad(_)))
        ));
        for name in ["KILL", "INT", "SEGV", "CHLD", "usr2", ""] {
            let refused = format!("signal:{name}").parse::<Trigger>();
            assert_eq!(refused, Err(BadTrigger::Signal(name.to_owned())));
        }
        assert_eq!("exit:zero".parse::<Trigger>(), Err(BadTrigger::Syntax));
        assert!(Trigger::ExitNonzero.is_met_by(ExitReason::Signalled(9)));
        assert!(!Trigger::ExitNonzero.is_met_by(ExitReason::Exited(0)));
    }
}
