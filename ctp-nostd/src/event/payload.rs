//! What an event says.

use crate::protocol::intern::site::SiteWord;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::WaitKind;

/// What an event says, besides who and when.
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
    /// Nothing but that it happened.
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

    /// It runs.
    #[inline(always)]
    pub fn run(wake_seen: u16) -> Self {
        EventPayload {
            wake_seen,
            ..EventPayload::only(EventKind::Run)
        }
    }

    /// It waits, by this [`code`].
    #[inline(always)]
    pub fn wait_of(site: SiteWord, code: u32, arg: u64, addr: u64) -> Self {
        EventPayload::wait(site, (code >> 8) as u8, arg, addr, (code >> 16) as u16)
    }

    /// It waits.
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

/// What it waits for and the wakes it has seen in one word, as they stand in the tail of a slot: so there
/// are no more arguments than registers for them.
#[inline(always)]
pub(crate) fn code(wait_code: u8, wake_seen: u16) -> u32 {
    u32::from(wake_seen) << 16 | u32::from(wait_code) << 8
}
