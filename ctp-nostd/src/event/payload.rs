//! [`EventPayload`]: what an event says, apart from its coroutine and its time.

use crate::protocol::intern::site::SiteWord;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::WaitKind;

/// The payload of an event, without the coroutine and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventPayload {
    pub kind: EventKind,
    pub addr: u64,
    pub site: SiteWord,
    pub arg: u64,
    pub wait_code: u8,
    pub wake_seen: u16,
}

impl EventPayload {
    /// An event without details.
    pub const fn only(kind: EventKind) -> Self {
        EventPayload {
            kind,
            addr: 0,
            site: SiteWord(0),
            arg: 0,
            wait_code: WaitKind::Unknown as u8,
            wake_seen: 0,
        }
    }

    /// The coroutine runs.
    #[inline(always)]
    pub fn run(wake_seen: u16) -> Self {
        EventPayload {
            wake_seen,
            ..EventPayload::only(EventKind::Run)
        }
    }

    /// The coroutine waits; `code` comes from [`code`].
    #[inline(always)]
    pub fn wait_of(site: SiteWord, code: u32, arg: u64, addr: u64) -> Self {
        EventPayload::wait(site, (code >> 8) as u8, arg, addr, (code >> 16) as u16)
    }

    /// The coroutine waits.
    #[inline(always)]
    pub fn wait(site: SiteWord, wait_code: u8, arg: u64, addr: u64, wake_seen: u16) -> Self {
        EventPayload {
            kind: EventKind::Suspend,
            addr,
            site,
            arg,
            wait_code,
            wake_seen,
        }
    }
}

/// What the coroutine waits for and the wakes that it has seen, in one word, as in the tail of a
/// slot. So there are no more arguments than registers for them.
#[inline(always)]
pub(crate) fn code(wait_code: u8, wake_seen: u16) -> u32 {
    u32::from(wake_seen) << 16 | u32::from(wait_code) << 8
}
