//! What a filter keeps, as the user types it: `kind=run,suspend tid=12 pid=34`, or `none`.

use std::fmt;
use std::str::FromStr;

use ctp_nostd::control::THREAD_LIMIT;

/// Predicates, each of which an event must meet to be kept. Births and deaths are always kept, but
/// for those of other processes than the one that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// No runs.
    pub without_runs: bool,
    /// No suspends.
    pub without_suspends: bool,
    /// Only on the thread with this id; 0: on all.
    pub only_thread: u32,
    /// Only of the process with this id; 0: of all.
    pub only_process: u32,
}

/// Why an expression is no filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadFilter {
    /// There is nothing in it.
    Empty,
    /// This is no predicate.
    Word(String),
    /// There is no such kind of event.
    Kind(String),
    /// This is no id of a thread or a process.
    Id(String),
    /// This predicate comes twice.
    Twice(String),
}

impl fmt::Display for BadFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadFilter::Empty => write!(out, "a filter wants predicates, or `none`"),
            BadFilter::Word(word) => write!(
                out,
                "{word:?} is no predicate; there are kind=run,suspend  tid=N  pid=N  and none"
            ),
            BadFilter::Kind(kind) => write!(
                out,
                "{kind:?} is no kind of event; there are run, suspend, birth and death"
            ),
            BadFilter::Id(text) => write!(out, "{text:?} is no id of a thread or process"),
            BadFilter::Twice(name) => write!(out, "{name}= comes twice"),
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
            "tid" => id(value).map(|id| self.only_thread = id),
            "pid" => id(value).map(|id| self.only_process = id),
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

/// Of a thread or a process. Linux gives none as large as the limit.
fn id(text: &str) -> Result<u32, BadFilter> {
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
        let id = |name, id| match id {
            0 => String::new(),
            id => format!("{name}={id}"),
        };
        let words = [
            kinds.to_owned(),
            id("tid", self.only_thread),
            id("pid", self.only_process),
        ];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
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
    fn a_filter_is_printed_as_it_can_be_typed() {
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
    fn what_is_no_filter_is_named() {
        let bad = |text: &str| text.parse::<Filter>().expect_err("is none");
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
