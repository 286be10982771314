//! The recorder's side of the control socket: accepts callers, reads their questions, sends the answers.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use super::wire::{self, Answer, MAX_QUESTION_BYTES, Question};

/// Connected callers that have not sent a whole question yet.
#[derive(Debug, Default)]
pub struct ControlServer {
    callers: VecDeque<ControlCaller>,
}

#[derive(Debug)]
struct ControlCaller {
    stream: UnixStream,
    received: Vec<u8>,
}

/// A question and where to answer.
pub type ControlRequest = (Result<Question, wire::BadQuestion>, Reply);

/// The connection of a caller that waits for an answer.
#[derive(Debug)]
pub struct Reply(UnixStream);

/// Maximum number of callers that have not asked yet. If there are more, the oldest is dropped.
const MAX_CALLERS: usize = 8;

impl ControlServer {
    /// Accepts pending connections and passes each to `watch`.
    pub fn accept_callers(
        &mut self,
        mut accept: impl FnMut() -> Option<UnixStream>,
        mut watch: impl FnMut(&UnixStream),
    ) {
        for _ in 0..MAX_CALLERS {
            let Some(stream) = accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            watch(&stream);
            self.callers.truncate(MAX_CALLERS - 1);
            self.callers.push_front(ControlCaller {
                stream,
                received: Vec::new(),
            });
        }
    }

    /// Takes the questions that have arrived. Callers that hung up without asking are dropped.
    pub fn requests(&mut self) -> Vec<ControlRequest> {
        let mut requests = Vec::new();
        for mut caller in std::mem::take(&mut self.callers) {
            let is_connected = caller.receive();
            if Question::is_whole(&caller.received) {
                let question = Question::from_bytes(&caller.received);
                requests.push((question, Reply(caller.stream)));
            } else if is_connected {
                self.callers.push_back(caller);
            }
        }
        requests
    }
}

impl ControlCaller {
    /// Reads what has arrived. Returns whether the caller is still connected.
    fn receive(&mut self) -> bool {
        let mut bytes = [0; MAX_QUESTION_BYTES];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(received) => {
                self.received.extend_from_slice(&bytes[..received]);
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

impl Reply {
    /// Sends the answer and hangs up. An answer fits into the socket's buffer, so that a caller that
    /// does not read cannot block the recorder.
    pub fn answer(mut self, answer: &Answer) {
        // Fails if the caller has hung up meanwhile: nothing to do.
        let _ = self.0.write_all(wire::answer_to_text(answer).as_bytes());
    }
}
