//! Listens at the path of a recorder's control socket, with its own process id: `impostor DIRECTORY
//! MANNER`.
//!
//! Prints its process id once it listens. Then MANNER decides:
//! - `endless`: answers each caller without an end,
//! - `lying`: answers each caller that its recording is running,
//! - `silent`: accepts callers without an answer,
//! - `busy`: accepts no caller, and its queue is full.

use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket};

/// An impostor that is forgotten ends by itself.
const MAX_TIME: Duration = Duration::from_secs(1_800);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().expect("two arguments");
    let (parent, manner) = (argument(), argument());
    let pid = std::process::id();
    let directory = Path::new(&parent).join(format!("ctp-{pid}-0"));
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(0o700).create(&directory).expect("is new");
    let path = directory.join("control");
    std::thread::spawn(move || serve(&path, &manner));
    std::thread::sleep(MAX_TIME);
}

fn serve(path: &Path, manner: &str) {
    let address = SocketAddrUnix::new(path).expect("is short");
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("can be made");
    bind(&listener, &address).expect("is new");
    listen(&listener, 0).expect("is bound");
    let full = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("can be made");
    if manner == "busy" {
        connect(&full, &address).expect("one fits");
    }
    println!("{}", std::process::id());
    std::io::stdout().flush().expect("is open");
    if manner == "busy" {
        std::thread::sleep(MAX_TIME);
    }
    let callers: Vec<UnixStream> = UnixListener::from(listener)
        .incoming()
        .flatten()
        .inspect(|caller| answer(caller, manner))
        .collect();
    drop(callers);
}

fn answer(mut caller: &UnixStream, manner: &str) {
    let piece = [b'x'; 65_536];
    match manner {
        "endless" => while caller.write_all(&piece).is_ok() {},
        "lying" => {
            caller.write_all(b"ok\nrecording on\n").expect("listening");
            caller.shutdown(std::net::Shutdown::Write).expect("is open");
        }
        _ => {}
    }
}
