//! Messages of the kernel's process connector, in native byte order.
//!
//! A message is a netlink header of 16 bytes, a connector header of 20 bytes, and a payload. The payload of an event
//! starts with the kind, the processor and the time; the ids of thread and process follow.

/// A thread that is about to dump core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrashedThread {
    /// Its process.
    pub process: u32,
    /// The thread, by the kernel's id.
    pub thread: u32,
}

const NETLINK_HEADER_BYTES: usize = 16;
const HEADERS_BYTES: usize = NETLINK_HEADER_BYTES + 20;
/// Type of the last message in a series, also of a single message.
const DONE: u16 = 3;
/// Index and value of process events in the connector.
const PROCESS_EVENTS_ID: [u32; 2] = [1, 1];
/// The request to listen.
const LISTEN: u32 = 1;
/// The kind of event for a core dump that is about to start, also as the mask of a subscription.
const CORE_DUMP: u32 = 0x4000_0000;
/// Offset of the thread id in an event.
const THREAD_AT: usize = HEADERS_BYTES + 16;
/// Offset of the process id.
const PROCESS_AT: usize = THREAD_AT + 4;

/// A request for announcements of core dumps only. Kernels before 6.6 ignore this request.
pub fn subscription() -> Vec<u8> {
    let payload = [LISTEN, CORE_DUMP].map(u32::to_ne_bytes);
    let payload = payload.as_flattened();
    let mut message = Vec::new();
    message.extend(((HEADERS_BYTES + payload.len()) as u32).to_ne_bytes());
    message.extend(DONE.to_ne_bytes());
    message.resize(NETLINK_HEADER_BYTES, 0);
    message.extend(PROCESS_EVENTS_ID.map(u32::to_ne_bytes).as_flattened());
    message.extend([0; 8]); // sequence and acknowledgement
    message.extend((payload.len() as u16).to_ne_bytes());
    message.extend([0; 2]); // flags
    message.extend(payload);
    message
}

/// Parses an event; `None` if it is not a core dump.
pub fn crash(message: &[u8]) -> Option<CrashedThread> {
    let user = [
        word(message, NETLINK_HEADER_BYTES)?,
        word(message, NETLINK_HEADER_BYTES + 4)?,
    ];
    let what = word(message, HEADERS_BYTES)?;
    (user == PROCESS_EVENTS_ID && what == CORE_DUMP).then_some(CrashedThread {
        process: word(message, PROCESS_AT)?,
        thread: word(message, THREAD_AT)?,
    })
}

fn word(message: &[u8], at: usize) -> Option<u32> {
    let bytes = message.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
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
    fn a_core_dump_names_the_thread_and_the_process() {
        let (process, thread) = (9896, 9905);
        assert_eq!(crash(CORE_DUMPED), Some(CrashedThread { process, thread }));
    }

    #[test]
    fn truncated_and_other_events_are_ignored() {
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
