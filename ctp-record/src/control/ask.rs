//! The client side of the control socket: finds the recorder and sends it a request.

use std::time::Duration;

use super::converse::{Deadline, converse};
use super::status::{self, Facts};
use super::wire::{self, Question, Request};
use super::{Verb, find};
use crate::error::ControlError;

/// A request as typed on the command line.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request and the process that it names.
    pub question: Question,
    /// Print JSON.
    pub json: bool,
}

/// Limit from the first attempt to connect to the end of the answer. A recorder answers within a
/// fraction of this time unless it is stopped itself.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Limit for a snapshot, which is answered after it is written.
const LONG_TIMEOUT: Duration = Duration::from_secs(600);

/// Sends the request and returns the text to print.
///
/// # Errors
/// No such recording exists, it belongs to another user, it has ended, or the recorder refuses.
pub fn ask(ask: &Ask) -> Result<String, ControlError> {
    let pid = ask.question.pid;
    let deadline = Deadline::after(match ask.question.request {
        Request::Verb(_) | Request::Stacks => TIMEOUT,
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
        (false, Request::Stacks) => status::of_stacks(facts),
    }
}
