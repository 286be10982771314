//! The text protocol of the control socket: a question and its answer per connection.
//!
//! ```text
//! question   ctp-control 1 \n  PID \n  stop | start | status | filter EXPR | snapshot [PATH] | stacks \n
//! answer     ok \n             then a line `name value` for each fact
//!            error SENTENCE \n
//! ```
//! In a value, `\n` stands for a newline and `\\` for a backslash.
//! A recorder of another version answers with an error that names its own version. It reads no more
//! than [`MAX_QUESTION_BYTES`] bytes of a question.

use std::fmt;
use std::path::PathBuf;

use super::Verb;
use super::filter::BadFilter;

/// First line of a question.
const HELLO: &str = "ctp-control 1";
/// Longest question in bytes.
pub const MAX_QUESTION_BYTES: usize = 5120;

/// What a question asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlRequest {
    /// Reads or changes what is recorded.
    Verb(Verb),
    /// Takes a snapshot into this file, or into a file that the recorder chooses.
    Snapshot(Option<PathBuf>),
    /// Reads the call stacks of all coroutines that wait on stacks of their own.
    Stacks,
}

/// A question to a recorder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The process id that the user typed: the recorder or a process that it records.
    pub pid: u32,
    /// The request.
    pub request: ControlRequest,
}

/// Why a question cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadQuestion {
    /// The first line, which names another protocol version or is other text.
    Version(String),
    /// No valid process id.
    Pid(String),
    /// An unknown request.
    Verb(String),
    /// An invalid filter.
    Filter(BadFilter),
}

impl fmt::Display for BadQuestion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadQuestion::Version(found) => write!(
                out,
                "this recorder understands {HELLO:?}, not {found:?}: use the same ctp-record that records"
            ),
            BadQuestion::Pid(found) => write!(out, "{found:?} is not a process id"),
            BadQuestion::Verb(found) => {
                write!(out, "this recorder does not know the request {found:?}")
            }
            BadQuestion::Filter(bad) => write!(out, "{bad}"),
        }
    }
}

impl Question {
    /// The text to send.
    pub fn to_text(&self) -> String {
        let request = match &self.request {
            ControlRequest::Verb(Verb::Stop) => "stop".to_owned(),
            ControlRequest::Verb(Verb::Start) => "start".to_owned(),
            ControlRequest::Verb(Verb::Status) => "status".to_owned(),
            ControlRequest::Verb(Verb::Filter(filter)) => format!("filter {filter}"),
            ControlRequest::Snapshot(None) => "snapshot".to_owned(),
            ControlRequest::Snapshot(Some(path)) => format!("snapshot {}", path.display()),
            ControlRequest::Stacks => "stacks".to_owned(),
        };
        format!("{HELLO}\n{}\n{request}\n", self.pid)
    }

    /// Whether the whole question has arrived, or the limit is reached.
    pub fn is_whole(bytes: &[u8]) -> bool {
        MAX_QUESTION_BYTES <= bytes.len()
            || bytes.iter().filter(|byte| **byte == b'\n').count() >= 3
    }

    /// Parses the bytes that were received.
    ///
    /// # Errors
    /// [`BadQuestion`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadQuestion> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let [hello, pid, verb] = std::array::from_fn(|_| lines.next().unwrap_or_default());
        if hello != HELLO {
            return Err(BadQuestion::Version(hello.to_owned()));
        }
        Ok(Question {
            pid: pid.parse().map_err(|_| BadQuestion::Pid(pid.to_owned()))?,
            request: request(verb)?,
        })
    }
}

fn request(line: &str) -> Result<ControlRequest, BadQuestion> {
    match line.split_once(' ').unwrap_or((line, "")) {
        ("snapshot", "") => Ok(ControlRequest::Snapshot(None)),
        ("snapshot", path) => Ok(ControlRequest::Snapshot(Some(path.into()))),
        ("stacks", "") => Ok(ControlRequest::Stacks),
        ("stop", "") => Ok(ControlRequest::Verb(Verb::Stop)),
        ("start", "") => Ok(ControlRequest::Verb(Verb::Start)),
        ("status", "") => Ok(ControlRequest::Verb(Verb::Status)),
        ("filter", expression) => match expression.parse() {
            Ok(filter) => Ok(ControlRequest::Verb(Verb::Filter(filter))),
            Err(bad) => Err(BadQuestion::Filter(bad)),
        },
        _ => Err(BadQuestion::Verb(line.to_owned())),
    }
}

/// A recorder's answer: facts by name, or an error sentence.
pub type Answer = Result<Vec<(String, String)>, String>;

/// The text to send.
pub fn answer_to_text(answer: &Answer) -> String {
    match answer {
        Ok(facts) => facts.iter().fold("ok\n".to_owned(), |text, (name, value)| {
            text + name + " " + &in_a_line(value) + "\n"
        }),
        Err(sentence) => format!("error {sentence}\n"),
    }
}

/// Parses an answer; `None` if it is incomplete.
pub fn answer_from_text(text: &str) -> Option<Answer> {
    let body = text.strip_suffix('\n')?;
    if let Some(sentence) = body.strip_prefix("error ") {
        return Some(Err(sentence.to_owned()));
    }
    let facts = body
        .strip_prefix("ok")?
        .lines()
        .filter(|line| !line.is_empty());
    Some(Ok(facts
        .filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), from_a_line(value)))
        })
        .collect()))
}

fn in_a_line(value: &str) -> String {
    value.replace('\\', r"\\").replace('\n', r"\n")
}

fn from_a_line(line: &str) -> String {
    let parts = line.split(r"\\").map(|part| part.replace(r"\n", "\n"));
    parts.collect::<Vec<_>>().join(r"\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_and_answers_arrive_as_they_were_sent() {
        let filter = "kind=run tid=7".parse().expect("a filter");
        for verb in [Verb::Stop, Verb::Start, Verb::Status, Verb::Filter(filter)] {
            arrives(ControlRequest::Verb(verb));
        }
        arrives(ControlRequest::Snapshot(None));
        arrives(ControlRequest::Stacks);
        arrives(ControlRequest::Snapshot(Some("/srv/a b.ctp".into())));
        let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let output = fact("output", "caf\u{e9}'s \\\\n \n.ctp");
        let facts = vec![fact("events", "12"), output];
        for answer in [Ok(facts), Ok(Vec::new()), Err("no such process".to_owned())] {
            let text = answer_to_text(&answer);
            assert_eq!(answer_from_text(&text), Some(answer));
        }
        assert_eq!(answer_from_text("ok\nevents 1"), None);
    }

    fn arrives(request: ControlRequest) {
        let question = Question { pid: 4321, request };
        let text = question.to_text();
        assert!(Question::is_whole(text.as_bytes()));
        assert!(!Question::is_whole(&text.as_bytes()[..text.len() - 1]));
        assert_eq!(Question::from_bytes(text.as_bytes()), Ok(question));
    }

    #[test]
    fn unknown_versions_and_requests_are_refused_by_name() {
        let refused =
            |text: &str| Question::from_bytes(text.as_bytes()).expect_err("not a question");
        let version = BadQuestion::Version("ctp-control 2".into());
        assert_eq!(refused("ctp-control 2\n1\nstop\n"), version);
        assert_eq!(refused(""), BadQuestion::Version(String::new()));
        assert_eq!(
            refused("ctp-control 1\nx\nstop\n"),
            BadQuestion::Pid("x".into())
        );
        let verb = BadQuestion::Verb("explode".into());
        assert_eq!(refused("ctp-control 1\n7\nexplode\n"), verb);
    }
}
