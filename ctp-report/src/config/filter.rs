//! Which coroutines and tasks a view shows, and which time.
//!
//! `--time` has a meaning for each kind of view. Views of waits, runs and records show those in the time
//! ([`Filter::time`]). Checks and comparisons are about whole waits and runs, which ended in the time. Views
//! that list coroutines show those whose latest wait or run began in the time ([`Filter::began`]). Verdicts
//! are always based on the whole trace.

use std::ops::RangeInclusive;

use ctp_trace::record::Nanos;
use regex_lite::Regex;

/// Start and end of a time, both included. `None` is the end of the trace.
pub type Period = (Nanos, Option<Nanos>);

/// What `--time` selects in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeSelects {
    /// Records in the time, and the parts of waits and runs in the time.
    Parts,
    /// Waits and runs that ended in the time.
    Ends,
    /// Coroutines whose latest wait or run began in the time.
    Starts,
}

/// Conditions that all must hold. A condition with several values holds if any of them matches, and
/// a condition without values always holds.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Patterns for the function, or for the file and line, of the place.
    pub sites: Vec<Regex>,
    /// Patterns for the name.
    pub names: Vec<Regex>,
    /// Ids.
    pub ids: Vec<RangeInclusive<u32>>,
    /// The kernel's ids of threads on which the coroutine ran last.
    pub threads: Vec<u64>,
    /// Verdicts, such as `STUCK`, or states, such as `NOT_WOKEN`.
    pub states: Vec<String>,
    /// The time of which waits, runs and records are shown.
    pub time: Period,
    /// The time in which the latest wait or run began.
    pub began: Option<Period>,
    /// Whether [`time`](Self::time) selects whole waits and runs that ended then, instead of parts.
    pub whole_spans: bool,
}

/// What a filter compares.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterSubject<'s> {
    /// The id.
    pub id: u32,
    /// The function at the place.
    pub function: &'s str,
    /// The file and line of the place.
    pub at: Option<&'s str>,
    /// The name.
    pub name: &'s str,
    /// The thread on which the coroutine ran last, if known.
    pub thread: Option<u64>,
    /// The verdict and the state, as words.
    pub states: [&'s str; 2],
    /// When the latest wait or run began, if known.
    pub since: Option<Nanos>,
}

impl Filter {
    /// Whether everything is shown.
    pub fn is_empty(&self) -> bool {
        !self.has_coroutines() && !self.has_time()
    }

    /// Whether only some coroutines are shown.
    pub fn has_coroutines(&self) -> bool {
        let is_open = self.sites.is_empty() && self.names.is_empty() && self.ids.is_empty();
        let is_open = is_open && self.threads.is_empty() && self.states.is_empty();
        !is_open || self.began.is_some()
    }

    /// Whether only a part of the time is shown.
    pub fn has_time(&self) -> bool {
        self.time != (Nanos(0), None)
    }

    /// The filter for graphics on the page of a view that lists coroutines: they show the waits and runs in
    /// the time of `--time`.
    pub fn for_graphics(&self) -> Self {
        Filter {
            time: self.began.unwrap_or(self.time),
            began: None,
            ..self.clone()
        }
    }

    /// Whether the subject is shown.
    pub fn admits(&self, subject: &FilterSubject) -> bool {
        let is_site = |pattern: &Regex| {
            let is_at = subject.at.is_some_and(|at| pattern.is_match(at));
            is_at || pattern.is_match(subject.function)
        };
        let is_state = |state: &String| {
            let mut states = subject.states.iter();
            states.any(|word| word.eq_ignore_ascii_case(state))
        };
        is_any(&self.sites, is_site)
            && is_any(&self.names, |pattern| pattern.is_match(subject.name))
            && is_any(&self.ids, |ids| ids.contains(&subject.id))
            && is_any(&self.threads, |tid| subject.thread == Some(*tid))
            && is_any(&self.states, is_state)
            && self.starts_in_period(subject.since)
    }

    fn starts_in_period(&self, since: Option<Nanos>) -> bool {
        let Some((from, to)) = self.began else {
            return true;
        };
        since.is_some_and(|at| from <= at && to.is_none_or(|to| at <= to))
    }
}

fn is_any<T>(values: &[T], is_match: impl FnMut(&T) -> bool) -> bool {
    values.is_empty() || values.iter().any(is_match)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: FilterSubject = FilterSubject {
        id: 7,
        function: "app::read",
        at: Some("src/main.rs:64"),
        name: "conn-7",
        thread: Some(40),
        states: ["STUCK?", "NOT_WOKEN"],
        since: Some(Nanos(300)),
    };

    fn pattern(text: &str) -> Vec<Regex> {
        vec![text.parse().unwrap()]
    }

    // AGG-18
    #[test]
    fn all_conditions_must_hold() {
        let filter = Filter {
            sites: pattern("main\\.rs:64$"),
            names: pattern("^conn"),
            ids: vec![1..=2, 5..=9],
            threads: vec![40],
            states: vec!["stuck?".to_owned()],
            time: Default::default(),
            began: Some((Nanos(300), Some(Nanos(300)))),
            whole_spans: false,
        };
        assert!(!filter.is_empty() && filter.admits(&SUBJECT));
        let others = [
            FilterSubject {
                at: None,
                ..SUBJECT
            },
            FilterSubject {
                name: "x",
                ..SUBJECT
            },
            FilterSubject { id: 3, ..SUBJECT },
            FilterSubject {
                thread: None,
                ..SUBJECT
            },
            FilterSubject {
                states: ["STUCK", "NOT_WOKEN"],
                ..SUBJECT
            },
            FilterSubject {
                since: Some(Nanos(301)),
                ..SUBJECT
            },
            FilterSubject {
                since: None,
                ..SUBJECT
            },
        ];
        assert!(!others.iter().any(|other| filter.admits(other)));
    }

    #[test]
    fn graphics_show_the_time_itself() {
        let period = (Nanos(5), None);
        let filter = Filter {
            began: Some(period),
            ..Filter::default()
        };
        assert!(filter.has_coroutines() && !filter.has_time());
        let filter = filter.for_graphics();
        assert!(!filter.has_coroutines() && filter.has_time());
        assert_eq!(filter.time, period);
    }

    #[test]
    fn empty_filter_admits_everything() {
        let filter = Filter::default();
        assert!(filter.is_empty() && filter.admits(&SUBJECT));
        assert!(filter.admits(&FilterSubject::default()));
    }
}
