//! The event filter as the user types it: `kind=run,suspend tid=12 pid=34`, or `none`.

use std::fmt;
use std::str::FromStr;

use ctp_nostd::control::THREAD_LIMIT;

/// An event is kept if it meets all of these conditions. Births and deaths are always kept, except with
/// `only_process`, which also drops those of other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Drop run events.
    pub without_runs: bool,
    /// Drop suspend events.
    pub without_suspends: bool,
    /// Keep only the events of the thread with this id; 0: of all threads.
    pub only_thread: u32,
    /// Keep only the events of the process with this id; 0: of all processes.
    pub only_process: u32,
}

/// Why a text is not a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFilter {
    /// Contains no word.
    Empty,
    /// Contains a word that is not a condition.
    Word(String),
    /// Names an unknown kind of event.
    Kind(String),
    /// Contains an invalid thread or process id.
    Id(String),
    /// Repeats this condition.
    Twice(String),
}

impl fmt::Display for BadFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadFilter::Empty => write!(out, "an empty filter: give conditions, or `none`"),
            BadFilter::Word(word) => write!(
                out,
                "{word:?} is not a filter condition; use kind=run,suspend  tid=N  pid=N  or none"
            ),
            BadFilter::Kind(kind) => write!(
                out,
                "{kind:?} is not a kind of event; use run, suspend, birth or death"
            ),
            BadFilter::Id(text) => write!(out, "{text:?} is not a thread or process id"),
            BadFilter::Twice(name) => write!(out, "{name}= appears twice"),
        }
    }
}

impl std::error::Error for BadFilter {}

impl FromStr for Filter {
    type Err = BadFilter;

    fn from_str(text: &str) -> Result<Self, BadFilter> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut filter = Filter::default();
        match words[..] {
            [] => return Err(BadFilter::Empty),
            ["none"] => return Ok(filter),
            _ => {}
        }
        let mut seen = Vec::new();
        for word in words {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| BadFilter::Word(word.to_owned()))?;
            if seen.contains(&name) {
                return Err(BadFilter::Twice(name.to_owned()));
            }
            seen.push(name);
            filter.set(name, value)?;
        }
        Ok(filter)
    }
}

impl Filter {
    fn set(&mut self, name: &str, value: &str) -> Result<(), BadFilter> {
        match name {
            "kind" => self.keep_kinds(value),
            "tid" => parse_id(value).map(|id| self.only_thread = id),
            "pid" => parse_id(value).map(|id| self.only_process = id),
            _ => Err(BadFilter::Word(format!("{name}={value}"))),
        }
    }

    fn keep_kinds(&mut self, list: &str) -> Result<(), BadFilter> {
        (self.without_runs, self.without_suspends) = (true, true);
        for kind in list.split(',') {
            match kind {
                "run" => self.without_runs = false,
                "suspend" => self.without_suspends = false,
                "birth" | "death" => {}
                _ => return Err(BadFilter::Kind(kind.to_owned())),
            }
        }
        Ok(())
    }
}

/// Parses a thread or process id. Ids on Linux are below [`THREAD_LIMIT`].
fn parse_id(text: &str) -> Result<u32, BadFilter> {
    let id = text.parse().ok();
    id.filter(|id| (1..THREAD_LIMIT).contains(id))
        .ok_or_else(|| BadFilter::Id(text.to_owned()))
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = match (self.without_runs, self.without_suspends) {
            (false, false) => "",
            (true, false) => "kind=suspend",
            (false, true) => "kind=run",
            (true, true) => "kind=birth,death",
        };
        let mut words = Vec::new();
        if !kinds.is_empty() {
            words.push(kinds.to_owned());
        }
        for (name, id) in [("tid", self.only_thread), ("pid", self.only_process)] {
            if id != 0 {
                words.push(format!("{name}={id}"));
            }
        }
        match &words[..] {
            [] => write!(out, "none"),
            words => write!(out, "{}", words.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_filter_parses_to_the_same_filter() {
        for text in [
            "none",
            "kind=run",
            "kind=suspend tid=7",
            "kind=birth,death tid=7 pid=8",
            "pid=4194303",
        ] {
            let filter: Filter = text.parse().expect("a filter");
            assert_eq!(filter.to_string(), text);
        }
        let all: Filter = "kind=suspend,run".parse().expect("a filter");
        assert_eq!(all, Filter::default());
    }

    #[test]
    fn a_parse_error_names_the_bad_word() {
        let bad = |text: &str| text.parse::<Filter>().expect_err("not a filter");
        assert_eq!(bad(""), BadFilter::Empty);
        assert_eq!(bad("none tid=3"), BadFilter::Word("none".into()));
        assert_eq!(bad("min=1ms"), BadFilter::Word("min=1ms".into()));
        assert_eq!(bad("kind=wake"), BadFilter::Kind("wake".into()));
        assert_eq!(bad("kind="), BadFilter::Kind(String::new()));
        assert_eq!(bad("tid=0"), BadFilter::Id("0".into()));
        assert_eq!(bad("tid=16777216"), BadFilter::Id("16777216".into()));
        assert_eq!(bad("tid=1 tid=2"), BadFilter::Twice("tid".into()));
    }
}
