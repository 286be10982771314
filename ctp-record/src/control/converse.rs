//! One question and its answer, within bounds: what answers may be no recorder.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// An answer is a few lines long.
const MOST_BYTES: usize = 1 << 20;
/// So much is read at a time.
const PIECE: usize = 64 << 10;

/// When all of it has to be there.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    timeout: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn after(timeout: Duration) -> Self {
        let started = Instant::now();
        Deadline { started, timeout }
    }

    /// How long it is until then; never zero, which would stand for no limit.
    ///
    /// # Errors
    /// It is over.
    pub fn left(self) -> io::Result<Duration> {
        let left = self.timeout.checked_sub(self.started.elapsed());
        left.filter(|left| !left.is_zero()).ok_or_else(|| {
            let seconds = self.timeout.as_secs();
            let why = format!("there is no whole answer after {seconds} s");
            io::Error::new(ErrorKind::TimedOut, why)
        })
    }
}

/// Sends the question and reads to the end of the answer.
///
/// # Errors
/// Those of the kernel; the answer is late, or is too long.
pub fn converse(stream: UnixStream, question: &str, deadline: Deadline) -> io::Result<String> {
    let mut stream = stream;
    stream.set_nonblocking(false)?;
    let mut unsent = question.as_bytes();
    while !unsent.is_empty() {
        stream.set_write_timeout(Some(deadline.left()?))?;
        let sent = waited(stream.write(unsent))?;
        unsent = &unsent[sent..];
    }
    let mut answer = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        stream.set_read_timeout(Some(deadline.left()?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(String::from_utf8_lossy(&answer).into_owned()),
            read => answer.extend_from_slice(&piece[..waited(read)?]),
        }
        if MOST_BYTES < answer.len() {
            let why = "its answer is longer than that of any recorder";
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
    }
}

/// A wait that ended without effect is seen by the deadline.
fn waited(result: io::Result<usize>) -> io::Result<usize> {
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

    /// What is heard of a peer that does this, until its end is dropped.
    fn heard(
        peer: impl FnOnce(UnixStream) + Send + 'static,
        timeout: Duration,
    ) -> io::Result<String> {
        let (ours, theirs) = UnixStream::pair().expect("a pair can be made");
        let peer = thread::spawn(move || peer(theirs));
        let heard = converse(ours, "question\n", Deadline::after(timeout));
        peer.join().expect("it ends");
        heard
    }

    const LONG: Duration = Duration::from_secs(600);
    const SHORT: Duration = Duration::from_millis(100);

    #[test]
    fn an_answer_in_pieces_is_whole() {
        let answer = |mut stream: UnixStream| {
            let mut question = [0; 9];
            stream.read_exact(&mut question).expect("it asks");
            for piece in ["ok\n", "events", " 12\n"] {
                stream.write_all(piece.as_bytes()).expect("it listens");
                thread::sleep(Duration::from_millis(5));
            }
        };
        assert_eq!(heard(answer, LONG).expect("it is whole"), "ok\nevents 12\n");
    }

    #[test]
    fn an_endless_answer_is_refused() {
        let endless = |mut stream: UnixStream| while stream.write_all(&[b'x'; 4096]).is_ok() {};
        let error = heard(endless, LONG).expect_err("it is too long");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn a_byte_now_and_then_does_not_extend_the_deadline() {
        let slow = |mut stream: UnixStream| {
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
        };
        let error = heard(slow, SHORT).expect_err("it is late");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn silence_ends_at_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair can be made");
        let error = converse(ours, "question\n", Deadline::after(SHORT));
        assert_eq!(error.expect_err("it is late").kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_peer_that_never_reads_ends_at_the_deadline() {
        let (ours, _theirs) = UnixStream::pair().expect("a pair can be made");
        let long = "x".repeat(8 << 20);
        let error = converse(ours, &long, Deadline::after(SHORT));
        assert_eq!(error.expect_err("it is late").kind(), ErrorKind::TimedOut);
    }
}
