//! How a recording stands: as the recorder tells it, and as the user reads it.

use std::fmt::Write as _;
use std::path::Path;

use ctp_trace::escape::{escaped, is_unsafe};

use super::Orders;
use crate::cli::words::shell_word;

/// Figures of a recording that goes on: a field for each figure of the answer.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Its process.
    pub recorder: u32,
    /// Where the trace goes.
    pub output: String,
    /// Bytes of it so far.
    pub bytes: u64,
    /// Why no more of it can be written.
    pub failure: Option<String>,
    /// Since the recording began.
    pub at_ns: u64,
    /// What is kept.
    pub orders: Orders,
    /// Coroutines in an event that began before the latest command and did not end.
    pub inside: usize,
    /// Processes that attached.
    pub processes: usize,
    /// Coroutines so far.
    pub coroutines: u32,
    /// Those of v1 peers, which know no control.
    pub plain: u32,
    /// Events so far; where history is kept, those that are in the trace.
    pub events: u64,
    /// Events a second, in the latest second or two.
    pub events_per_s: u64,
    /// Bytes that were read and are not written yet.
    pub waiting_bytes: u64,
    /// Events that were kept out.
    pub filtered: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Coroutines that found no room.
    pub refused: u32,
    /// Lanes that threads have had.
    pub lanes: u32,
    /// Coroutines that are stuck, if somebody wanted to know at once.
    pub stuck: Option<usize>,
}

/// By name, each with its value.
pub type Facts = Vec<(String, String)>;

impl Status {
    /// By name; all but `recording`, `filter`, `output` and `failure` are numbers.
    pub fn to_facts(&self) -> Facts {
        let recording = if self.orders.stopped { "stopped" } else { "on" };
        let words = [
            ("recording", recording.to_owned()),
            ("filter", self.orders.filter.to_string()),
            ("output", self.output.clone()),
        ];
        let numbers = [
            ("recorder", self.recorder.into()),
            ("at_ns", self.at_ns),
            ("events", self.events),
            ("events_per_s", self.events_per_s),
            ("filtered", self.filtered),
            ("lost", self.lost),
            ("refused", self.refused.into()),
            ("coroutines", self.coroutines.into()),
            ("plain", self.plain.into()),
            ("processes", self.processes as u64),
            ("lanes", self.lanes.into()),
            ("bytes", self.bytes),
            ("waiting_bytes", self.waiting_bytes),
            ("inside", self.inside as u64),
        ];
        let stuck = self.stuck.map(|stuck| ("stuck", stuck as u64));
        let numbers = numbers.into_iter().chain(stuck);
        let numbers = numbers.map(|(name, number): (_, u64)| (name, number.to_string()));
        let failure = self.failure.clone().map(|failure| ("failure", failure));
        let all = words.into_iter().chain(failure).chain(numbers);
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The words in which facts are numbers to be printed as they are.
const IN_WORDS: [&str; 5] = ["recording", "filter", "output", "failure", "snapshot"];

/// One fact a line, the values in one column.
pub fn to_text(facts: &Facts) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in facts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:width$}  {}", escaped(name), escaped(value));
    }
    text
}

/// One object; what is not a number is a string.
pub fn to_json(facts: &Facts) -> String {
    let member = |(name, value): &(String, String)| {
        let is_number = !IN_WORDS.contains(&name.as_str()) && value.parse::<u64>().is_ok();
        match is_number {
            true => format!("\"{}\": {value}", in_json(name)),
            false => format!("\"{}\": \"{}\"", in_json(name), in_json(value)),
        }
    };
    let members: Vec<String> = facts.iter().map(member).collect();
    format!("{{{}}}\n", members.join(", "))
}

/// As JSON wants it; nothing that a terminal would obey is left either.
fn in_json(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if is_unsafe(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string does not fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            c => text.push(c),
        }
    }
    text
}

/// The value of this name, empty if there is none.
fn fact<'f>(facts: &'f Facts, name: &str) -> &'f str {
    let found = facts.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value)
}

/// What a command came to, in a line or two.
pub fn in_a_sentence(facts: &Facts) -> String {
    let fact = |name| fact(facts, name);
    let seconds = fact("at_ns").parse().unwrap_or(0.0) / 1e9;
    let filter = match fact("filter") {
        "none" => "no filter".to_owned(),
        filter => format!("filter {}", escaped(filter)),
    };
    let what = match fact("recording") {
        "stopped" => "stopped",
        _ => "recording",
    };
    let mut text = format!("{what} as of {seconds:.3} s, {filter}\n");
    if !matches!(fact("inside"), "0" | "") {
        let _ = writeln!(
            text,
            "{} coroutines are amid an event that began before: it may still come, if whoever \
             writes it is not dead",
            escaped(fact("inside"))
        );
    }
    if !matches!(fact("plain"), "0" | "") {
        let _ = writeln!(
            text,
            "{} coroutines are of plain v1 peers, which know no control: they are recorded on",
            escaped(fact("plain"))
        );
    }
    text
}

/// What a snapshot came to, and how to look at it.
pub fn of_a_snapshot(facts: &Facts) -> String {
    let fact = |name| fact(facts, name);
    let ns = |name| fact(name).parse::<u64>().unwrap_or(0);
    let seconds = ns("at_ns").saturating_sub(ns("since_ns")) as f64 / 1e9;
    let file = fact("snapshot");
    let mut text = format!(
        "wrote {}: {} events of the last {seconds:.1} s, {} earlier in totals only, {} lost\n",
        escaped(file),
        escaped(fact("events")),
        escaped(fact("earlier")),
        escaped(fact("lost"))
    );
    let _ = writeln!(
        text,
        "look at it: ctp-report --stuck -i {}",
        shell_word(Path::new(file))
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_aligned_text_or_one_object() {
        let status = Status {
            output: "\u{e9}\"b\u{1b}".to_owned(),
            events: 12,
            ..Status::default()
        };
        let facts = status.to_facts();
        let text = to_text(&facts);
        assert!(text.contains("\nfilter         none\n"), "{text}");
        assert!(text.contains("\nevents         12\n"), "{text}");
        let json = to_json(&facts);
        assert!(
            json.contains(r#""recording": "on", "filter": "none""#),
            "{json}"
        );
        assert!(
            json.contains("\"output\": \"\u{e9}\\\"b\\u001b\""),
            "{json}"
        );
        assert!(json.contains(r#""events": 12"#), "{json}");
        let hostile = vec![("lost\u{1b}".to_owned(), "1, \u{1b}".to_owned())];
        assert_eq!(to_json(&hostile), "{\"lost\\u001b\": \"1, \\u001b\"}\n");
    }
}
