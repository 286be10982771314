//! The recorder's side of the control socket: who asks what.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;

use super::wire::{self, Answer, LONGEST, Question};

/// Callers that have not asked yet.
#[derive(Debug, Default)]
pub struct ControlServer {
    callers: VecDeque<Caller>,
}

#[derive(Debug)]
struct Caller {
    stream: UnixStream,
    heard: Vec<u8>,
}

/// What somebody asks, and where to answer.
pub type ControlRequest = (Result<Question, wire::BadQuestion>, Reply);

/// One who waits for an answer.
#[derive(Debug)]
pub struct Reply(UnixStream);

/// So many may stand there and say nothing; then the first has to go.
const MOST_CALLERS: usize = 8;

impl ControlServer {
    /// Lets in those that connect. `watch` is given each.
    pub fn let_in(
        &mut self,
        mut accept: impl FnMut() -> Option<UnixStream>,
        mut watch: impl FnMut(&UnixStream),
    ) {
        for _ in 0..MOST_CALLERS {
            let Some(stream) = accept() else {
                return;
            };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            watch(&stream);
            self.callers.truncate(MOST_CALLERS - 1);
            self.callers.push_front(Caller {
                stream,
                heard: Vec::new(),
            });
        }
    }

    /// Those whose question is there. Who hung up has none.
    pub fn requests(&mut self) -> Vec<ControlRequest> {
        let mut requests = Vec::new();
        for mut caller in std::mem::take(&mut self.callers) {
            let is_there = caller.hear();
            if Question::is_whole(&caller.heard) {
                let question = Question::from_bytes(&caller.heard);
                requests.push((question, Reply(caller.stream)));
            } else if is_there {
                self.callers.push_back(caller);
            }
        }
        requests
    }
}

impl Caller {
    /// Is it still there?
    fn hear(&mut self) -> bool {
        let mut bytes = [0; LONGEST];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(heard) => {
                self.heard.extend_from_slice(&bytes[..heard]);
                true
            }
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }
}

impl Reply {
    /// Tells it and hangs up. An answer fits into a socket's buffer; one who does not read it does
    /// not hold up anybody.
    pub fn answer(mut self, answer: &Answer) {
        // Where it went away meanwhile, there is nobody to be told.
        let _ = self.0.write_all(wire::answer_to_text(answer).as_bytes());
    }
}
