//! The client side of the control socket: finds the recorder, sends a request, and returns the answer as text.

use std::time::Duration;

use super::converse::{Deadline, converse};
use super::status::{self, Facts};
use super::wire::{self, ControlRequest, Question};
use super::{Verb, find};
use crate::error::ControlError;

/// A command of `ctp-record control`, as typed.
#[derive(Clone, Debug)]
pub struct ControlCommand {
    /// The request and the process that it names.
    pub question: Question,
    /// Whether the answer is printed as JSON.
    pub json: bool,
}

/// The longest time from the first attempt to connect to the end of the answer. A recorder that is not stopped answers
/// within a fraction of this time.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest time for a snapshot: the recorder answers after the snapshot is written.
const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Sends the request of a command, and returns the text to print.
///
/// # Errors
/// No such recording exists, it belongs to another user, it has ended, or the recorder refuses.
pub fn request(command: &ControlCommand) -> Result<String, ControlError> {
    let pid = command.question.pid;
    let deadline = Deadline::after(match command.question.request {
        ControlRequest::Verb(_) | ControlRequest::Stacks => TIMEOUT,
        ControlRequest::Snapshot(_) => LONG_TIMEOUT,
    });
    let stream = find::recorder(pid, deadline)?;
    let text = converse(stream, &command.question.to_text(), deadline)
        .map_err(|error| ControlError::Unanswered(pid, error))?;
    match wire::answer_from_text(&text) {
        Some(Ok(facts)) => Ok(printed(command, &facts)),
        Some(Err(sentence)) => Err(ControlError::Refused(sentence)),
        None => Err(ControlError::Ended(pid)),
    }
}

fn printed(command: &ControlCommand, facts: &Facts) -> String {
    match (command.json, &command.question.request) {
        (true, _) => status::to_json(facts),
        (false, ControlRequest::Verb(Verb::Status)) => status::to_text(facts),
        (false, ControlRequest::Verb(_)) => status::in_a_sentence(facts),
        (false, ControlRequest::Snapshot(_)) => status::of_a_snapshot(facts),
        (false, ControlRequest::Stacks) => status::of_stacks(facts),
    }
}
