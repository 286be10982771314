//! Bytes to and from the kernel's process connector, in the processor's own order.
//!
//! A message is a netlink header of 16 bytes, a connector header of 20, and a payload. That of an
//! event begins with what happened, on which processor, and when; two numbers follow that say who.

/// A thread that is about to dump core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Its process.
    pub process: u32,
    /// The thread, by the kernel's id.
    pub thread: u32,
}

const NETLINK_HEADER_BYTES: usize = 16;
const HEADERS_BYTES: usize = NETLINK_HEADER_BYTES + 20;
/// The last of a series of netlink messages, which a single one is.
const DONE: u16 = 3;
/// Index and value of process events among the connector's users.
const PROCESS_EVENTS: [u32; 2] = [1, 1];
/// The request to listen.
const LISTEN: u32 = 1;
/// What happened: a core is about to be dumped. As a mask it asks for nothing else.
const CORE_DUMP: u32 = 0x4000_0000;
/// Where the thread's id is in an event, and the process's.
const THREAD_AT: usize = HEADERS_BYTES + 16;
const PROCESS_AT: usize = THREAD_AT + 4;

/// Asks for core dumps and for nothing else. Kernels before 6.6 know no such request and ignore it.
pub fn subscription() -> Vec<u8> {
    let payload = [LISTEN, CORE_DUMP].map(u32::to_ne_bytes);
    let payload = payload.as_flattened();
    let mut message = Vec::new();
    message.extend(((HEADERS_BYTES + payload.len()) as u32).to_ne_bytes());
    message.extend(DONE.to_ne_bytes());
    message.resize(NETLINK_HEADER_BYTES, 0);
    message.extend(PROCESS_EVENTS.map(u32::to_ne_bytes).as_flattened());
    message.extend([0; 8]); // sequence and acknowledgement
    message.extend((payload.len() as u16).to_ne_bytes());
    message.extend([0; 2]); // flags
    message.extend(payload);
    message
}

/// What an event says, if it is of a core dump.
pub fn crash(message: &[u8]) -> Option<Crash> {
    let word = |at: usize| {
        let bytes = message.get(at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*bytes))
    };
    let user = [word(NETLINK_HEADER_BYTES)?, word(NETLINK_HEADER_BYTES + 4)?];
    (user == PROCESS_EVENTS && word(HEADERS_BYTES)? == CORE_DUMP).then_some(Crash {
        process: word(PROCESS_AT)?,
        thread: word(THREAD_AT)?,
    })
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    /// Sent by Linux 6.18 when thread 9905 of process 9896 read from address 0.
    const CORE_DUMPED: &[u8] = b"\
        \x4c\x00\x00\x00\x03\x00\x00\x00\xa6\x86\x00\x00\x00\x00\x00\x00\
        \x01\x00\x00\x00\x01\x00\x00\x00\xa6\x86\x00\x00\x00\x00\x00\x00\x28\x00\x00\x00\
        \x00\x00\x00\x40\x00\x00\x00\x00\xd5\x2b\x69\xe3\xb8\x0e\x00\x00\
        \xb1\x26\x00\x00\xa8\x26\x00\x00\x69\x26\x00\x00\x69\x26\x00\x00\
        \x00\x00\x00\x00\x00\x00\x00\x00";

    #[test]
    fn a_core_dump_names_the_thread_and_its_process() {
        let (process, thread) = (9896, 9905);
        assert_eq!(crash(CORE_DUMPED), Some(Crash { process, thread }));
    }

    #[test]
    fn what_is_cut_off_or_something_else_names_nobody() {
        for length in 0..PROCESS_AT + 4 {
            assert_eq!(crash(&CORE_DUMPED[..length]), None, "{length}");
        }
        let mut exit = CORE_DUMPED.to_vec();
        exit[HEADERS_BYTES + 3] = 0x80;
        assert_eq!(crash(&exit), None);
        let mut other_user = CORE_DUMPED.to_vec();
        other_user[NETLINK_HEADER_BYTES] = 2;
        assert_eq!(crash(&other_user), None);
    }

    #[test]
    fn a_subscription_has_the_kernels_shape() {
        let expected = b"\
            \x2c\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\
            \x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\
            \x01\x00\x00\x00\x00\x00\x00\x40";
        assert_eq!(subscription(), expected);
    }
}
