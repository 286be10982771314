//! A target behind a GDB server, such as QEMU's, OpenOCD, J-Link or probe-rs.
//!
//! Some servers read memory while the target runs. Others stop the target for that, or ignore requests
//! while it runs. Which it is, the first request after the start shows: the answer is data, a stop, or
//! none in time.
//!
//! ```text
//!   connect      qSupported, QStartNoAckMode, ?, and the target is stopped
//!   each pass    m … m                         if the server reads a running target
//!                Ctrl-C, stop; m … m; c        otherwise
//!   leave        Ctrl-C, stop; D               the target runs
//! ```

mod connection;
mod error;
mod packet;
mod statics;

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::search::search;
use super::source::{LiveSource, SourceError};
use crate::cli::words::shown;
use crate::error::{Error, ImageError, LiveError};
use connection::{Connection, is_stop};
pub use error::GdbError;

/// How often the memory is looked for, with a pause each, before the search is given up.
const ATTEMPTS: u32 = 100;

/// How long the server may take to read the memory of a running target for the first time.
const TRIAL: Duration = Duration::from_millis(500);

/// The time from one reading to the next if readings do not stop the target, and if they do.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSE_STOPPING: Duration = Duration::from_millis(10);

/// The most bytes that a request reads.
const MOST_BYTES: usize = 4096;

/// A target behind a GDB server. When dropped, the target runs and the server is left.
#[derive(Debug)]
pub struct GdbTarget {
    name: String,
    elf: String,
    connection: Connection,
    statics: Vec<Range<u64>>,
    /// The most bytes that a request reads from this server.
    request_bytes: usize,
    attempts: u32,
    /// The target has other code than the program's file.
    has_other_code: bool,
    state: State,
}

/// What is known of target and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The target is stopped. It is not known yet whether the server reads running targets.
    StoppedAtFirst,
    /// The target runs, and the server reads its memory meanwhile.
    ReadWhileRunning,
    /// The target is stopped, as for each reading.
    Stopped,
    /// The target runs, and has to be stopped for a reading.
    Running,
}

impl GdbTarget {
    /// Connects to the server. The target is stopped until the first reading has ended.
    ///
    /// # Errors
    /// There is no server, or the program's file cannot be read.
    pub fn connect(address: &str, elf: &Path) -> Result<Self, Error> {
        let bytes = fs::read(elf).map_err(|error| ImageError::Input(elf.to_owned(), error))?;
        let fails = |error| LiveError::Source(address.to_owned(), SourceError::Gdb(error));
        let mut target = GdbTarget {
            name: format!("the target at {address}"),
            elf: shown(elf),
            connection: Connection::open(address).map_err(fails)?,
            statics: statics::ranges_of(&bytes),
            request_bytes: 0,
            attempts: 0,
            has_other_code: false,
            state: State::StoppedAtFirst,
        };
        target.introduce().map_err(fails)?;
        if let Some((address, code)) = statics::code_of(&bytes) {
            target.has_other_code = target.has_other(address, &code);
        }
        Ok(target)
    }

    fn introduce(&mut self) -> Result<(), GdbError> {
        let supported = self.connection.request("qSupported")?;
        let supported = String::from_utf8_lossy(&supported).into_owned();
        self.request_bytes = request_bytes(&supported);
        if supported.split(';').any(|word| word == "QStartNoAckMode+") {
            let answer = self.connection.request("QStartNoAckMode")?;
            expect(&answer, b"OK", "QStartNoAckMode")?;
            self.connection.stop_confirming();
        }
        self.connection.send("?")?;
        self.connection.wait_for_stop("?")
    }

    /// Whether there are other bytes at this address. False if they cannot be read.
    fn has_other(&mut self, address: u64, bytes: &[u8]) -> bool {
        let mut found = vec![0; bytes.len()];
        self.read(address, &mut found).is_ok() && found != bytes
    }

    /// Stops the target, and waits until it is stopped.
    fn stop(&mut self) -> Result<(), GdbError> {
        self.connection.interrupt()?;
        self.connection.wait_for_stop("Ctrl-C")?;
        self.state = State::Stopped;
        Ok(())
    }

    fn run(&mut self) -> Result<(), GdbError> {
        self.connection.send("c")?;
        self.state = State::Running;
        Ok(())
    }

    /// Lets the target run for the first time, and tries to read its memory meanwhile.
    fn try_while_running(&mut self, address: u64) -> Result<(), GdbError> {
        self.run()?;
        let request = format!("m{address:x},4");
        self.connection.send(&request)?;
        match self.connection.answer(&request, TRIAL) {
            Ok(answer) if is_stop(&answer) => self.run(),
            Ok(answer) => {
                if packet::bytes_of_hex(&answer).is_some_and(|bytes| bytes.len() == 4) {
                    self.state = State::ReadWhileRunning;
                }
                Ok(())
            }
            Err(GdbError::Silent(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn read_some(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), GdbError> {
        let request = format!("m{address:x},{:x}", buffer.len());
        let answer = self.connection.request(&request)?;
        if answer.starts_with(b"E") && answer.len() < 2 * buffer.len() {
            return Err(GdbError::Unreadable(address));
        }
        let bytes = packet::bytes_of_hex(&answer).filter(|bytes| bytes.len() == buffer.len());
        buffer.copy_from_slice(&bytes.ok_or_else(|| GdbError::unexpected(&answer, &request))?);
        Ok(())
    }

    /// Lets the target run without the server's connection.
    fn leave(&mut self) -> Result<(), GdbError> {
        if self.state == State::Running {
            self.stop()?;
        }
        let answer = self.connection.request("D")?;
        expect(&answer, b"OK", "D")
    }
}

impl Drop for GdbTarget {
    fn drop(&mut self) {
        // After an error, the server may ignore this. Most servers let the target run without a connection.
        let _ = self.leave();
    }
}

impl LiveSource for GdbTarget {
    fn name(&self) -> &str {
        &self.name
    }

    fn find(&mut self) -> Result<Option<u64>, SourceError> {
        let mut unreadable = 0;
        for range in self.statics.clone() {
            match search(self, [range]) {
                Ok(None) => {}
                // Not each static of the program's file need be in memory that the server can read.
                Err(SourceError::Gdb(GdbError::Unreadable(_)))
                    if unreadable + 1 < self.statics.len() =>
                {
                    unreadable += 1;
                }
                found => return found,
            }
        }
        self.attempts += 1;
        if self.statics.is_empty() || ATTEMPTS < self.attempts {
            return Err(GdbError::NoMemory(self.elf.clone()).into());
        }
        Ok(None)
    }

    fn read(&mut self, address: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        let addresses = (address..).step_by(self.request_bytes);
        let parts = buffer.chunks_mut(self.request_bytes);
        for (part, address) in parts.zip(addresses) {
            self.read_some(address, part)?;
        }
        Ok(())
    }

    fn hold(&mut self) -> Result<bool, SourceError> {
        match self.state {
            State::ReadWhileRunning => return Ok(false),
            State::StoppedAtFirst | State::Stopped => {}
            State::Running => self.stop()?,
        }
        Ok(true)
    }

    fn release(&mut self) -> Result<(), SourceError> {
        match self.state {
            State::ReadWhileRunning | State::Running => {}
            State::Stopped => self.run()?,
            State::StoppedAtFirst => {
                let address = self.statics.first().map_or(0, |range| range.start);
                self.try_while_running(address)?;
            }
        }
        Ok(())
    }

    fn pause(&self) -> Duration {
        match self.state {
            State::ReadWhileRunning => PAUSE,
            _ => PAUSE_STOPPING,
        }
    }

    fn notes(&self) -> Vec<String> {
        let stops = "each reading stops the target for a moment, because this GDB server reads no running \
                     target";
        let other = format!(
            "the code in the target is not that of {}: functions may be wrong",
            self.elf
        );
        let stops = (self.state != State::ReadWhileRunning).then(|| stops.to_owned());
        let other = self.has_other_code.then_some(other);
        stops.into_iter().chain(other).collect()
    }
}

/// How many bytes a request reads, by the server's limit of a packet in bytes: two digits for each byte.
fn request_bytes(supported: &str) -> usize {
    let words = supported.split(';');
    let size = words
        .filter_map(|word| word.strip_prefix("PacketSize="))
        .find_map(|digits| usize::from_str_radix(digits, 16).ok());
    (size.unwrap_or(400).saturating_sub(16) / 2).clamp(64, MOST_BYTES) & !7
}

fn expect(answer: &[u8], expected: &[u8], request: &str) -> Result<(), GdbError> {
    if answer == expected {
        Ok(())
    } else {
        Err(GdbError::unexpected(answer, request))
    }
}
