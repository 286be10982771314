//! A connection to a GDB server: sends requests, and waits for answers for a limited time.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use super::error::GdbError;
use super::packet::{self, MAX_BYTES, decode, encode};

/// How long the server may take for an answer.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(3);

/// How many packets may come before an answer.
const MOST_ANSWERS: u32 = 4;

/// The byte that asks the server to stop the target.
const INTERRUPT: u8 = 3;

/// A connection to a GDB server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// Received, and not read yet.
    received: VecDeque<u8>,
    /// Whether each packet is confirmed by a `+`.
    confirms: bool,
}

impl Connection {
    /// Connects to `HOST:PORT`, or to `:PORT` on this machine.
    ///
    /// # Errors
    /// There is no server.
    pub fn open(address: &str) -> Result<Self, GdbError> {
        let fails = |error| GdbError::Connect(address.to_owned(), error);
        let host = if address.starts_with(':') {
            "localhost"
        } else {
            ""
        };
        let found = format!("{host}{address}").to_socket_addrs();
        let found = found.map_err(fails)?.next();
        let found = found.ok_or_else(|| fails(ErrorKind::NotFound.into()))?;
        let stream = TcpStream::connect_timeout(&found, ANSWER_LIMIT).map_err(fails)?;
        stream.set_nodelay(true).map_err(fails)?;
        stream
            .set_write_timeout(Some(ANSWER_LIMIT))
            .map_err(fails)?;
        Ok(Connection {
            stream,
            received: VecDeque::new(),
            confirms: true,
        })
    }

    /// Sends a request and returns the answer. A target may stop at any time, so stops before the answer
    /// are skipped.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn request(&mut self, request: &str) -> Result<Vec<u8>, GdbError> {
        self.send(request)?;
        self.answer_that(request, |answer| !is_stop(answer))
    }

    /// Waits until the target is stopped, which answers this request. Late answers to earlier requests are
    /// skipped.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn wait_for_stop(&mut self, request: &str) -> Result<(), GdbError> {
        self.answer_that(request, is_stop).map(drop)
    }

    /// The first answer with this property, among a few.
    fn answer_that(
        &mut self,
        request: &str,
        is_meant: impl Fn(&[u8]) -> bool,
    ) -> Result<Vec<u8>, GdbError> {
        let mut answer = Vec::new();
        for _ in 0..MOST_ANSWERS {
            answer = self.answer(request, ANSWER_LIMIT)?;
            if is_meant(&answer) {
                return Ok(answer);
            }
        }
        Err(GdbError::unexpected(&answer, request))
    }

    /// Sends a request. An answer may come later.
    ///
    /// # Errors
    /// The connection broke.
    pub fn send(&mut self, request: &str) -> Result<(), GdbError> {
        self.write(&encode(request))
    }

    /// Asks the server to stop the target. The answer is a packet.
    ///
    /// # Errors
    /// The connection broke.
    pub fn interrupt(&mut self) -> Result<(), GdbError> {
        self.write(&[INTERRUPT])
    }

    /// Neither side confirms packets from now on.
    pub fn stop_confirming(&mut self) {
        self.confirms = false;
    }

    /// Waits for the next packet, which answers this request. Notifications and console output are
    /// skipped.
    ///
    /// # Errors
    /// There is no packet in this time.
    pub fn answer(&mut self, request: &str, within: Duration) -> Result<Vec<u8>, GdbError> {
        let until = Instant::now() + within;
        loop {
            let data = self.packet(until).map_err(|error| match error {
                GdbError::Silent(_) => GdbError::Silent(request.to_owned()),
                error => error,
            })?;
            if !is_console_output(&data) {
                return Ok(data);
            }
        }
    }

    /// The next packet. Everything before its `$` is skipped, up to [`MAX_BYTES`].
    fn packet(&mut self, until: Instant) -> Result<Vec<u8>, GdbError> {
        let mut skipped = 0;
        while self.byte(until)? != b'$' {
            skipped += 1;
            if MAX_BYTES < skipped {
                return Err(GdbError::Garbage);
            }
        }
        let mut raw = Vec::new();
        loop {
            match self.byte(until)? {
                b'#' => break,
                byte if raw.len() < MAX_BYTES => raw.push(byte),
                _ => return Err(GdbError::Garbage),
            }
        }
        let sum = [self.byte(until)?, self.byte(until)?];
        let data = decode(&raw, sum)?;
        if self.confirms {
            self.write(b"+")?;
        }
        Ok(data)
    }

    fn byte(&mut self, until: Instant) -> Result<u8, GdbError> {
        loop {
            if let Some(byte) = self.received.pop_front() {
                return Ok(byte);
            }
            self.receive(until)?;
        }
    }

    fn receive(&mut self, until: Instant) -> Result<(), GdbError> {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Err(GdbError::Silent(String::new()));
        }
        let timeout = self.stream.set_read_timeout(Some(rest));
        timeout.map_err(GdbError::Io)?;
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(GdbError::Closed),
            Ok(count) => {
                self.received.extend(&bytes[..count]);
                Ok(())
            }
            Err(error) => match error.kind() {
                // The caller looks at the time again.
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
                ErrorKind::ConnectionReset => Err(GdbError::Closed),
                _ => Err(GdbError::Io(error)),
            },
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), GdbError> {
        let written = self.stream.write_all(bytes);
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => GdbError::Closed,
            _ => GdbError::Io(error),
        })
    }
}

/// `O` and hex digits: text for the user of a debugger. `OK` is an answer.
fn is_console_output(data: &[u8]) -> bool {
    data.strip_prefix(b"O")
        .is_some_and(|digits| packet::bytes_of_hex(digits).is_some())
}

/// Whether the packet says that the target is stopped.
pub fn is_stop(answer: &[u8]) -> bool {
    matches!(answer.first(), Some(b'T' | b'S'))
}
