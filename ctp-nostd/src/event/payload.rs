//! What an event says, and where each kind of event is recorded: in functions of their own, so that what
//! is not recorded is done with in the callers. Each is there once for each mode, see `platform/mode.rs`.

use core::panic::Location;

use super::fast_path::Seat;
use crate::platform::mode::{RecordingMode, in_mode};
use crate::platform::{Local, Platform};
use crate::protocol::intern::site::SiteWord;
use crate::protocol::slot::EventKind;
use crate::protocol::wait::{Wait, WaitKind};

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
    fn wait_of(site: SiteWord, code: u32, arg: u64, addr: u64) -> Self {
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
fn code(wait_code: u8, wake_seen: u16) -> u32 {
    u32::from(wake_seen) << 16 | u32::from(wait_code) << 8
}

impl<P: Platform> Seat<P> {
    /// A run, which is kept.
    #[inline(always)]
    pub fn tell_run(&self, local: Option<&Local>, wake_seen: u16) {
        in_mode!(self.probe, MODE => self.runs::<MODE>(local, wake_seen));
    }

    #[inline(never)]
    fn runs<const MODE: RecordingMode>(&self, local: Option<&Local>, wake_seen: u16) {
        self.event::<MODE>(local, EventPayload::run(wake_seen));
    }

    /// A suspend, which is kept. Its site is looked up only here.
    #[inline(always)]
    pub fn tell_suspend(&self, local: Option<&Local>, wait: Wait, addr: u64, wake_seen: u16) {
        let (place, arg, code) = (wait.place, wait.resource, code(wait.code(), wake_seen));
        in_mode!(self.probe, MODE => self.suspends::<MODE>(local, place, arg, addr, code));
    }

    #[inline(never)]
    fn suspends<const MODE: RecordingMode>(
        &self,
        local: Option<&Local>,
        place: &'static Location<'static>,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        let site = self.probe.site(place);
        self.event::<MODE>(local, EventPayload::wait_of(site, code, arg, addr));
    }

    /// A suspend, which is kept, where it is known already: the site, and code and resource of what it waits
    /// for.
    #[inline(always)]
    pub fn tell_wait(
        &self,
        local: Option<&Local>,
        (site, wait_code, arg): (SiteWord, u8, u64),
        addr: u64,
        wake_seen: u16,
    ) {
        let code = code(wait_code, wake_seen);
        in_mode!(self.probe, MODE => self.waits::<MODE>(local, site, arg, addr, code));
    }

    #[inline(never)]
    fn waits<const MODE: RecordingMode>(
        &self,
        local: Option<&Local>,
        site: SiteWord,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        self.event::<MODE>(local, EventPayload::wait_of(site, code, arg, addr));
    }
}
