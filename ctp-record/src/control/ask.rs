//! The user's side of the control socket: finds the recorder and asks it.

use std::time::Duration;

use super::converse::{Deadline, converse};
use super::status::{self, Facts};
use super::wire::{self, Question, Request};
use super::{Verb, find};
use crate::error::ControlError;

/// What the user wants of a recording.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What is asked of which recorder.
    pub question: Question,
    /// Print it for programs.
    pub json: bool,
}

/// A recorder answers within a fraction of this, unless it is stopped itself. From the first
/// attempt to reach it to the end of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A snapshot is answered once it is written.
const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Asks, and gives what is to be printed.
///
/// # Errors
/// There is no such recording, it is another user's, it ended meanwhile, or it refuses.
pub fn ask(ask: &Ask) -> Result<String, ControlError> {
    let pid = ask.question.pid;
    let deadline = Deadline::after(match ask.question.request {
        Request::Verb(_) => TIMEOUT,
        Request::Snapshot(_) => LONG_TIMEOUT,
    });
    let stream = find::recorder(pid, deadline)?;
    let text = converse(stream, &ask.question.to_text(), deadline)
        .map_err(|error| ControlError::Unanswered(pid, error))?;
    match wire::answer_from_text(&text) {
        Some(Ok(facts)) => Ok(printed(ask, &facts)),
        Some(Err(sentence)) => Err(ControlError::Refused(sentence)),
        None => Err(ControlError::Ended(pid)),
    }
}

fn printed(ask: &Ask, facts: &Facts) -> String {
    match (ask.json, &ask.question.request) {
        (true, _) => status::to_json(facts),
        (false, Request::Verb(Verb::Status)) => status::to_text(facts),
        (false, Request::Verb(_)) => status::in_a_sentence(facts),
        (false, Request::Snapshot(_)) => status::of_a_snapshot(facts),
    }
}
