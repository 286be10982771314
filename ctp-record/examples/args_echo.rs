//! Writes its arguments to a file, byte for byte: `args_echo FILE [ARGUMENT]...`. Each argument is
//! followed by a zero byte.

use std::os::unix::ffi::OsStrExt as _;

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let file = arguments.next().expect("a file to write");
    let mut bytes = Vec::new();
    for argument in arguments {
        bytes.extend_from_slice(argument.as_bytes());
        bytes.push(0);
    }
    std::fs::write(file, bytes).expect("can be written");
}
