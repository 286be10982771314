//! A GDB server of the test's own, with the memory of a dump. It can be made to misbehave.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use object::{Object as _, ObjectSymbol as _};

use super::target;

/// How the server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// Reads memory while the target runs.
    Background,
    /// Answers nothing while the target runs.
    Stopping,
    /// Answers nothing.
    Silent,
    /// Closes the connection.
    Closing,
    /// Sends bytes that are no packets.
    Garbage,
    /// Sends a wrong checksum.
    WrongSum,
    /// Sends less memory than requested.
    TooShort,
    /// Cannot read memory.
    Unreadable,
}

/// What the test and the server's thread share.
#[derive(Debug)]
pub struct Shared {
    pub manners: Manners,
    pub memory: Vec<u8>,
    /// The byte that each address outside of the memory has; `None`: these are unreadable.
    pub elsewhere: Option<u8>,
    /// How often the target was stopped by a request.
    pub stops: u32,
    pub is_running: bool,
    pub is_detached: bool,
}

/// A server, which ends with its client.
pub struct Server {
    pub address: String,
    shared: Arc<Mutex<Shared>>,
}

impl Server {
    /// A server for a single client, whose target has this memory where the program has its static.
    pub fn start(manners: Manners, memory: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Mutex::new(Shared {
            manners,
            memory,
            elsewhere: None,
            stops: 0,
            is_running: false,
            is_detached: false,
        }));
        let connection = Connection {
            shared: Arc::clone(&shared),
            base: static_address(),
        };
        thread::spawn(move || connection.serve(&mut listener.accept().unwrap().0));
        Server { address, shared }
    }

    pub fn with<T>(&self, act: impl FnOnce(&mut Shared) -> T) -> T {
        act(&mut self.shared.lock().unwrap())
    }
}

/// The address of the program's memory.
fn static_address() -> u64 {
    let elf = std::fs::read(&target().elf).unwrap();
    let file = object::File::parse(&elf[..]).unwrap();
    let bytes = target().dump.len() as u64;
    let mut symbols = file.symbols().filter(|symbol| symbol.size() == bytes);
    symbols.next().unwrap().address()
}

struct Connection {
    shared: Arc<Mutex<Shared>>,
    base: u64,
}

impl Connection {
    /// Serves until the client closes the connection, or the server has to.
    fn serve(&self, stream: &mut TcpStream) {
        let mut request = Vec::new();
        let mut byte = [0];
        while let Ok(1) = stream.read(&mut byte) {
            let answer = match byte[0] {
                3 => self.interrupt(),
                b'$' => {
                    request.clear();
                    None
                }
                b'#' => {
                    // The checksum of a client that is not tested here.
                    stream.read_exact(&mut [0; 2]).unwrap();
                    self.answer(&String::from_utf8(request.clone()).unwrap())
                }
                byte => {
                    request.push(byte);
                    None
                }
            };
            let manners = self.shared.lock().unwrap().manners;
            if manners == Manners::Closing {
                return;
            }
            if answer.is_some_and(|answer| send(stream, manners, &answer).is_err()) {
                return;
            }
        }
    }

    fn interrupt(&self) -> Option<String> {
        let mut shared = self.shared.lock().unwrap();
        shared.stops += 1;
        shared.is_running = false;
        Some("T02thread:01;".to_owned())
    }

    fn answer(&self, request: &str) -> Option<String> {
        let mut shared = self.shared.lock().unwrap();
        if shared.is_running && shared.manners == Manners::Stopping {
            return None;
        }
        match request {
            "qSupported" => Some("PacketSize=200;QStartNoAckMode+;vContSupported-".to_owned()),
            "QStartNoAckMode" => Some("OK".to_owned()),
            "?" => Some("S05".to_owned()),
            "c" => {
                shared.is_running = true;
                None
            }
            "D" => {
                (shared.is_detached, shared.is_running) = (true, true);
                Some("OK".to_owned())
            }
            _ => Some(self.read(&shared, request)),
        }
    }

    /// Answers `mADDRESS,LENGTH`.
    fn read(&self, shared: &Shared, request: &str) -> String {
        let numbers = request.strip_prefix('m').unwrap().split_once(',').unwrap();
        let number = |digits| u64::from_str_radix(digits, 16).unwrap();
        let (address, length) = (number(numbers.0), number(numbers.1) as usize);
        let begin = address.wrapping_sub(self.base) as usize;
        let length = length - usize::from(shared.manners == Manners::TooShort);
        let elsewhere = shared.elsewhere.map(|byte| vec![byte; length]);
        let bytes = shared.memory.get(begin..begin.saturating_add(length));
        match bytes
            .or(elsewhere.as_deref())
            .filter(|_| shared.manners != Manners::Unreadable)
        {
            Some(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            None => "E01".to_owned(),
        }
    }
}

fn send(stream: &mut TcpStream, manners: Manners, answer: &str) -> std::io::Result<()> {
    let sum = answer.bytes().fold(0_u8, u8::wrapping_add);
    let packet = match manners {
        Manners::Silent => String::new(),
        Manners::Garbage => "HTTP/1.1 400 Bad Request\r\n\r\n".repeat(20_000),
        Manners::WrongSum => format!("+${answer}#{:02x}", sum.wrapping_add(1)),
        _ => format!("+${answer}#{sum:02x}"),
    };
    stream.write_all(packet.as_bytes())
}
