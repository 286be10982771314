//! The status of a recording: the recorder's figures, and their text and JSON forms.

use std::fmt::Write as _;
use std::path::Path;

use ctp_trace::escape::{escaped, is_unsafe};

use super::Orders;
use crate::cli::words::shell_word;

/// Figures of a running recording. Each field is a line of `ctp-record control PID status`.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// The recorder's process id.
    pub recorder: u32,
    /// The file of the trace.
    pub output: String,
    /// Bytes written to the trace so far.
    pub bytes: u64,
    /// Why writing failed.
    pub failure: Option<String>,
    /// Time since the recording began, in nanoseconds.
    pub at_ns: u64,
    /// Whether recording is stopped, and the filter.
    pub orders: Orders,
    /// Coroutines inside an event that began before the latest command and has not ended.
    pub inside: usize,
    /// Processes that have attached.
    pub processes: usize,
    /// Coroutines recorded so far.
    pub coroutines: u32,
    /// Coroutines of programs with a v1 probe, which does not support control.
    pub v1_coroutines: u32,
    /// Events so far, including those that become no records, as most do in a summary.
    pub events: u64,
    /// Events a second, in the latest second or two.
    pub events_per_s: u64,
    /// Bytes read from the memories and not written yet.
    pub waiting_bytes: u64,
    /// Events dropped by the filter.
    pub filtered: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Coroutines that could not be recorded because no station was left.
    pub refused: u32,
    /// Lanes that threads have had so far.
    pub lanes: u32,
    /// Coroutines that are stuck, if the stuck monitor runs.
    pub stuck: Option<usize>,
}

/// Names and values of an answer.
pub type Facts = Vec<(String, String)>;

impl Status {
    /// The figures as facts. All but `recording`, `filter`, `output` and `failure` are numbers.
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
            ("plain", self.v1_coroutines.into()),
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

/// Facts that are strings in JSON, even if the value looks like a number.
const STRINGS: [&str; 5] = ["recording", "filter", "output", "failure", "snapshot"];

/// The facts as text, a line for each, with the values aligned.
pub fn to_text(facts: &Facts) -> String {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in facts {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:width$}  {}", escaped(name), escaped(value));
    }
    text
}

/// The facts as a JSON object. Values that are not numbers are strings.
pub fn to_json(facts: &Facts) -> String {
    let members: Vec<String> = facts
        .iter()
        .map(|(name, value)| {
            let is_number = !STRINGS.contains(&name.as_str()) && value.parse::<u64>().is_ok();
            let quote = if is_number { "" } else { "\"" };
            format!("\"{}\": {quote}{}{quote}", in_json(name), in_json(value))
        })
        .collect();
    format!("{{{}}}\n", members.join(", "))
}

/// Escapes a string for JSON, including every character that a terminal would act on.
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

/// The value with this name, or an empty string.
fn fact<'f>(facts: &'f Facts, name: &str) -> &'f str {
    let found = facts.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value)
}

/// The result of a command, in a line or two.
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
            "{} coroutines are inside an event that began before this command: the event may still \
             be recorded",
            escaped(fact("inside"))
        );
    }
    if !matches!(fact("plain"), "0" | "") {
        let _ = writeln!(
            text,
            "{} coroutines belong to programs with a v1 probe, which has no control: their recording goes on",
            escaped(fact("plain"))
        );
    }
    text
}

/// The result of a snapshot, and the command that shows it.
pub fn of_a_snapshot(facts: &Facts) -> String {
    let fact = |name| fact(facts, name);
    let [at_ns, since_ns] =
        ["at_ns", "since_ns"].map(|name| fact(name).parse::<u64>().unwrap_or(0));
    let seconds = at_ns.saturating_sub(since_ns) as f64 / 1e9;
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

/// How many call stacks were read, and the command that shows them.
pub fn of_stacks(facts: &Facts) -> String {
    let fact = |name| escaped(fact(facts, name));
    let mut text = format!("read {} call stacks of coroutines", fact("stacks"));
    if fact("moving") != "0" {
        // Writing to a string does not fail.
        let _ = write!(text, "; {} went on during each copy", fact("moving"));
    }
    if fact("unread") != "0" {
        let _ = write!(
            text,
            "; {} no longer waited, or could not be read",
            fact("unread")
        );
    }
    let input = shell_word(Path::new(&*fact("output")));
    let _ = writeln!(text, "\nlook at them: ctp-report --stacks -i {input}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_aligned_text_or_a_json_object() {
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
