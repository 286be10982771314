//! Exchanges a question and its answer, with limits on time and size: the peer may not be a recorder.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Size of the largest accepted answer in bytes; real answers are a few lines long.
const MAX_BYTES: usize = 1 << 20;
/// Size of each read.
const PIECE: usize = 64 << 10;

/// The time at which the whole answer must have arrived.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    timeout: Duration,
}

impl Deadline {
    /// A deadline this long from now.
    pub fn after(timeout: Duration) -> Self {
        let started = Instant::now();
        Deadline { started, timeout }
    }

    /// The time left; never zero, because sockets take zero for no timeout.
    ///
    /// # Errors
    /// The deadline has passed.
    pub fn left(self) -> io::Result<Duration> {
        let left = self.timeout.checked_sub(self.started.elapsed());
        left.filter(|left| !left.is_zero()).ok_or_else(|| {
            let seconds = self.timeout.as_secs();
            let why = format!("no complete answer after {seconds} s");
            io::Error::new(ErrorKind::TimedOut, why)
        })
    }
}

/// Sends the question and reads to the end of the answer.
///
/// # Errors
/// Those of the kernel; the answer is late or too long.
pub fn converse(stream: UnixStream, question: &str, deadline: Deadline) -> io::Result<String> {
    let mut stream = stream;
    stream.set_nonblocking(false)?;
    let mut unsent = question.as_bytes();
    while !unsent.is_empty() {
        stream.set_write_timeout(Some(deadline.left()?))?;
        let sent = bytes_or_zero(stream.write(unsent))?;
        unsent = &unsent[sent..];
    }
    let mut answer = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        stream.set_read_timeout(Some(deadline.left()?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(String::from_utf8_lossy(&answer).into_owned()),
            read => answer.extend_from_slice(&piece[..bytes_or_zero(read)?]),
        }
        if MAX_BYTES < answer.len() {
            let why = "the answer is longer than any answer of a recorder";
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
    }
}

/// Takes an interrupted or timed-out call for zero bytes: the caller checks the deadline.
fn bytes_or_zero(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::thread;

    use super::*;

    /// The result of `converse` with a peer that runs this function.
    fn heard(
        peer: impl FnOnce(UnixStream) + Send + 'static,
        timeout: Duration,
    ) -> io::Result<String> {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let peer = thread::spawn(move || peer(theirs));
        let heard = converse(ours, "question\n", Deadline::after(timeout));
        peer.join().expect("the peer does not panic");
        heard
    }

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(100);

    #[test]
    fn an_answer_in_pieces_is_whole() {
        let answer = |mut stream: UnixStream| {
            let mut question = [0; 9];
            stream
                .read_exact(&mut question)
                .expect("the question arrives");
            for piece in ["ok\n", "events", " 12\n"] {
                stream
                    .write_all(piece.as_bytes())
                    .expect("the other side reads");
                thread::sleep(Duration::from_millis(5));
            }
        };
        assert_eq!(
            heard(answer, LONG).expect("a whole answer"),
            "ok\nevents 12\n"
        );
    }

    #[test]
    fn an_endless_answer_is_refused() {
        let endless = |mut stream: UnixStream| while stream.write_all(&[b'x'; 4096]).is_ok() {};
        let error = heard(endless, LONG).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_byte_now_and_then_does_not_extend_the_deadline() {
        let slow = |mut stream: UnixStream| {
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let error = heard(slow, SHORT).expect_err("too late");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().expect("a socket pair");
        let error = converse(ours, "question\n", Deadline::after(SHORT));
        assert_eq!(error.expect_err("too late").kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_peer_that_never_reads_ends_at_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().expect("a socket pair");
        let long = "x".repeat(8 << 20);
        let error = converse(ours, &long, Deadline::after(SHORT));
        assert_eq!(error.expect_err("too late").kind(), ErrorKind::TimedOut);
    }
}
