//! What an event says, and where each kind of event is recorded: in functions of their own, so that what
//! is not recorded is done with in the callers. Each is there twice, see [`USUAL`].

use crate::platform::{Local, Platform};
use crate::probe::{ANY, USUAL};
use crate::seat::Seat;
use crate::site::SiteWord;
use crate::slot::EventKind;
use crate::wait::{Wait, WaitKind};

/// What an event says, besides who and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    pub kind: EventKind,
    pub addr: u64,
    pub site: SiteWord,
    pub arg: u64,
    pub wait_code: u8,
    pub wake_seen: u16,
}

impl Said {
    /// Nothing but that it happened.
    pub const fn only(kind: EventKind) -> Self {
        Said {
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
        Said {
            wake_seen,
            ..Said::only(EventKind::Run)
        }
    }

    /// It waits.
    #[inline(always)]
    pub fn wait(site: SiteWord, wait_code: u8, arg: u64, addr: u64, wake_seen: u16) -> Self {
        Said {
            kind: EventKind::Suspend,
            addr,
            site,
            arg,
            wait_code,
            wake_seen,
        }
    }
}

impl<P: Platform> Seat<P> {
    /// A run, which is kept.
    #[inline(always)]
    pub fn tell_run(&self, local: Option<&Local>, wake_seen: u16) {
        match self.probe.is_usual {
            true => self.runs::<USUAL>(local, wake_seen),
            false => self.runs::<ANY>(local, wake_seen),
        }
    }

    #[inline(never)]
    fn runs<const IS: bool>(&self, local: Option<&Local>, wake_seen: u16) {
        self.event::<IS>(local, Said::run(wake_seen));
    }

    /// A suspend, which is kept. Its site is looked up only here.
    #[inline(always)]
    pub fn tell_suspend(&self, local: Option<&Local>, wait: Wait, addr: u64, wake_seen: u16) {
        match self.probe.is_usual {
            true => self.suspends::<USUAL>(local, wait, addr, wake_seen),
            false => self.suspends::<ANY>(local, wait, addr, wake_seen),
        }
    }

    #[inline(never)]
    fn suspends<const IS: bool>(
        &self,
        local: Option<&Local>,
        wait: Wait,
        addr: u64,
        wake_seen: u16,
    ) {
        let site = self.probe.site(wait.place);
        let said = Said::wait(site, wait.code(), wait.resource, addr, wake_seen);
        self.event::<IS>(local, said);
    }

    /// The same, where that is known already: the site, and code and resource of what it waits for.
    #[inline(always)]
    pub fn tell_wait(
        &self,
        local: Option<&Local>,
        (site, wait_code, arg): (SiteWord, u8, u64),
        addr: u64,
        wake_seen: u16,
    ) {
        // As many words as registers are for arguments.
        let code = u32::from(wake_seen) << 8 | u32::from(wait_code);
        match self.probe.is_usual {
            true => self.waits::<USUAL>(local, site, arg, addr, code),
            false => self.waits::<ANY>(local, site, arg, addr, code),
        }
    }

    #[inline(never)]
    fn waits<const IS: bool>(
        &self,
        local: Option<&Local>,
        site: SiteWord,
        arg: u64,
        addr: u64,
        code: u32,
    ) {
        let said = Said::wait(site, code as u8, arg, addr, (code >> 8) as u16);
        self.event::<IS>(local, said);
    }
}
