//! What leaf futures announce before they return `Pending`, until the suspend that carries it.
//!
//! ```text
//!   who runs here       {something is announced 1 | its seat word 32}
//!   what is announced   its site, its resource, {wakers then 32 | marks | code of its wait + 1}
//! ```
//! Where the first word does not say so nothing is announced, whatever stands in the others. So who runs
//! next, or leaves, stores who runs here then, and that is all. A signal handler that runs a coroutine amid
//! an announcement has it lost.

use core::sync::atomic::compiler_fence;

use crate::platform::Local;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::wait::{WAIT_IDLE, WAIT_ONE_OF_SEVERAL, Wait};
use crate::sync::{Ordering, unlocked};

/// In the word of who runs on a thread: something is announced there.
const SOMETHING: u64 = 1 << 32;

/// In the word of what was announced: nothing yet, but one that was polled inside of this one waits, or
/// one that has announced it may still do so.
const ONE_INSIDE_WAITS: u64 = 1 << 16;

/// In the same word, besides what was announced: who did so is over if another wait follows.
const VOID: u64 = 1 << 17;

/// Who announced it is most likely over if another wait follows: a waker was dropped that was there then.
#[cfg(feature = "alloc")]
const OUTLIVED: u64 = 1 << 18;

/// In the upper half: so many wakers there were when it was announced, 0 if that is not known.
#[cfg(feature = "alloc")]
const CLONES: u64 = 1 << 32;

/// Keeps the latest of the waits that are announced in one run of a coroutine.
#[inline]
pub(crate) fn note(local: &Local, site: SiteWord, wait: &Wait) {
    let code = match announced(local) {
        0 => {
            begin(local);
            wait.code()
        }
        void if void & VOID != 0 => wait.code(),
        ONE_INSIDE_WAITS => wait.code() | WAIT_ONE_OF_SEVERAL,
        before => beside((before - 1) as u8, is_the_same(local, site, wait), wait),
    };
    loop {
        local.noted_site.store(site.0, Ordering::Relaxed);
        local.noted_arg.store(wait.resource, Ordering::Relaxed);
        keep(local, u64::from(code) + 1);
        compiler_fence(Ordering::SeqCst);
        if is_the_same(local, site, wait) {
            return;
        }
        // A handler has come amid this, and announced something else.
    }
}

/// 0 for nothing.
#[inline]
fn announced(local: &Local) -> u64 {
    match local.current.load(Ordering::Relaxed) & SOMETHING {
        0 => 0,
        _ => local.noted_kind.load(Ordering::Relaxed),
    }
}

/// Something is about to be announced, which so far is nothing.
fn begin(local: &Local) {
    keep(local, 0);
    compiler_fence(Ordering::SeqCst);
    unlocked::set(&local.current, SOMETHING);
    compiler_fence(Ordering::SeqCst);
}

fn keep(local: &Local, noted: u64) {
    local.noted_kind.store(noted, Ordering::Relaxed);
}

/// A coroutine waits that was polled inside of the one that runs here: that one goes on by it too,
/// whatever else it announces.
#[cold]
pub(crate) fn one_inside_waits(local: &Local) {
    begin(local);
    keep(local, ONE_INSIDE_WAITS);
}

/// Takes what a leaf future announced: the site, and code and resource of what it waits for.
#[inline]
pub(crate) fn take(local: &Local) -> Option<(SiteWord, u8, u64)> {
    let code = match announced(local) {
        ONE_INSIDE_WAITS => None,
        noted => noted.checked_sub(1),
    }?;
    keep(local, 0);
    let site = SiteWord(local.noted_site.load(Ordering::Relaxed));
    Some((site, code as u8, local.noted_arg.load(Ordering::Relaxed)))
}

/// There are so many wakers now that the latest was announced.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn beside_clones(local: &Local, clones: usize) {
    change(local, |noted| noted | (clones as u64 * CLONES));
}

/// Who announced the latest may be gone, and the wait is for something else.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn doubt(local: &Local) {
    change(local, |noted| {
        let code = (noted - 1) as u8 | WAIT_ONE_OF_SEVERAL;
        noted & !u64::from(u8::MAX) | (u64::from(code) + 1)
    });
}

/// Who announced has no waker any more.
#[cfg(feature = "alloc")]
#[cold]
pub(crate) fn void(local: &Local) {
    change(local, |noted| noted | VOID);
}

/// A waker is dropped, of so many. True if fewer are left than there were at the announcement: one
/// that takes a waker anew and drops its own for that makes them no fewer.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn outlives_one_of(local: &Local, clones: usize) -> bool {
    let were = announced(local) / CLONES;
    let outlives = were != 0 && clones as u64 <= were;
    if outlives {
        change(local, |noted| noted | OUTLIVED);
    }
    outlives
}

/// Another wait follows, which may have been announced already: then that stays. Who most likely has no
/// waker, and yet may have one, leaves a mark to what is announced next.
#[cfg(feature = "alloc")]
#[cold]
pub(crate) fn forget_void(local: &Local) {
    let noted = announced(local);
    let rest = match () {
        () if noted & VOID != 0 => 0,
        () if noted & OUTLIVED != 0 => ONE_INSIDE_WAITS,
        () => noted,
    };
    keep(local, rest);
}

/// Changes what is said of the latest, if any was announced.
#[cfg(feature = "alloc")]
#[inline(always)]
fn change(local: &Local, to: impl FnOnce(u64) -> u64) {
    let noted = announced(local);
    if ![0, ONE_INSIDE_WAITS].contains(&noted) {
        keep(local, to(noted));
    }
}

/// A future that is polled twice in one run is one wait.
fn is_the_same(local: &Local, site: SiteWord, wait: &Wait) -> bool {
    local.noted_site.load(Ordering::Relaxed) == site.0
        && local.noted_arg.load(Ordering::Relaxed) == wait.resource
}

/// Several waits are meant to be long only if each of them is.
fn beside(before: u8, same: bool, wait: &Wait) -> u8 {
    let code = wait.code() | before & WAIT_ONE_OF_SEVERAL;
    match same {
        true => code,
        false => (code & (before | !WAIT_IDLE)) | WAIT_ONE_OF_SEVERAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(local: &Local) -> u8 {
        (local.noted_kind.load(Ordering::Relaxed) - 1) as u8
    }

    fn fd(number: i32) -> Wait {
        Wait::readable(number)
    }

    #[test]
    fn one_future_that_is_polled_again_is_one_wait() {
        let local = Local::new();
        note(&local, SiteWord(5), &fd(7).idle());
        note(&local, SiteWord(5), &fd(7).idle());
        assert_eq!(noted(&local), fd(7).idle().code());
    }

    #[test]
    fn of_several_the_last_is_kept_and_marked() {
        let local = Local::new();
        note(&local, SiteWord(5), &fd(7));
        note(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(noted(&local), Wait::timer(0).code() | WAIT_ONE_OF_SEVERAL);
        assert_eq!(local.noted_arg.load(Ordering::Relaxed), 9);
        note(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(noted(&local), Wait::timer(0).code() | WAIT_ONE_OF_SEVERAL);
    }

    #[test]
    fn beside_one_that_waits_inside_it_is_marked() {
        let local = Local::new();
        one_inside_waits(&local);
        note(&local, SiteWord(5), &fd(7));
        assert_eq!(noted(&local), fd(0).code() | WAIT_ONE_OF_SEVERAL);
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn what_is_over_gives_way_to_what_follows_whichever_comes_first() {
        let kind = |local: &Local| local.noted_kind.load(Ordering::Relaxed);
        let local = Local::new();
        note(&local, SiteWord(5), &fd(7));
        void(&local);
        doubt(&local);
        assert_eq!(noted(&local), fd(7).one_of_several().code(), "none follows");
        note(&local, SiteWord(6), &Wait::timer(9));
        forget_void(&local);
        assert_eq!(noted(&local), Wait::timer(0).code(), "announced already");
        void(&local);
        forget_void(&local);
        assert_eq!(kind(&local), 0);
        one_inside_waits(&local);
        void(&local);
        forget_void(&local);
        assert_eq!(kind(&local), ONE_INSIDE_WAITS, "that one waits on");
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn what_has_most_likely_lost_its_waker_gives_way_and_leaves_a_mark() {
        let local = Local::new();
        note(&local, SiteWord(5), &fd(7));
        assert!(!outlives_one_of(&local, 1), "not known how many there were");
        beside_clones(&local, 2);
        assert!(!outlives_one_of(&local, 3), "another one was taken before");
        forget_void(&local);
        assert_eq!(noted(&local), fd(7).code());
        doubt(&local);
        assert!(outlives_one_of(&local, 2));
        assert_eq!(noted(&local), fd(7).one_of_several().code(), "none follows");
        forget_void(&local);
        assert_eq!(local.noted_kind.load(Ordering::Relaxed), ONE_INSIDE_WAITS);
        note(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(noted(&local), Wait::timer(0).one_of_several().code());
        assert!(!outlives_one_of(&local, 1), "told anew");
    }

    #[test]
    fn several_are_idle_only_if_each_is() {
        let code = |waits: [Wait; 2]| {
            let local = Local::new();
            note(&local, SiteWord(5), &waits[0]);
            note(&local, SiteWord(6), &waits[1]);
            noted(&local) & WAIT_IDLE
        };
        assert_eq!(code([fd(1).idle(), fd(2).idle()]), WAIT_IDLE);
        assert_eq!(fd(1).idle().one_of_several().code(), 1 | 32 | 64);
        assert_eq!(code([fd(1), fd(2).idle()]), 0);
        assert_eq!(code([fd(1).idle(), fd(2)]), 0);
    }
}
