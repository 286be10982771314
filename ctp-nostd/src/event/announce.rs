//! Announcements: what a leaf future waits for. An announcement is kept from before the leaf returns
//! `Pending` until the suspend event that records the wait.
//!
//! ```text
//!   current coroutine   {an announcement exists 1 | coroutine word 32}
//!   announcement        site, resource, {wakers at the announcement 32 | marks | code of the wait + 1}
//! ```
//! Without the flag in the first word there is no announcement, whatever the other words hold. So a
//! coroutine that starts to run, or leaves, only stores the current coroutine. If a signal handler
//! runs a coroutine during an announcement, the announcement is lost.

use core::sync::atomic::compiler_fence;

use crate::platform::Local;
use crate::protocol::chain::PollWakers;
use crate::protocol::intern::site::SiteWord;
use crate::protocol::wait::{WAIT_IDLE, WAIT_ONE_OF_SEVERAL, Wait};
use crate::sync::{self, Ordering};

/// In the word of the current coroutine: there is an announcement.
const HAS_ANNOUNCEMENT: u64 = 1 << 32;

/// In the word of the announcement: nothing is announced yet, but a coroutine that was polled
/// inside of this coroutine waits, or an earlier announcer may still wait.
const INNER_WAITS: u64 = 1 << 16;

/// In the same word, with an announcement: the announcer's wait is over if another wait follows.
const WAKERLESS: u64 = 1 << 17;

/// In the same word: the announcer's wait is most likely over if another wait follows, because a
/// waker was dropped that existed at the announcement.
#[cfg(feature = "alloc")]
const WAKER_DROPPED: u64 = 1 << 18;

/// Upper half of the same word: number of wakers at the announcement, 0 if not known.
#[cfg(feature = "alloc")]
const CLONE_UNIT: u64 = 1 << 32;

/// Announces a wait. Of the waits announced in one run of a coroutine, the latest is kept.
#[inline]
pub(crate) fn announce<S>(local: &Local, site: SiteWord, wait: &Wait<S>) {
    let code = match announced(local) {
        0 => {
            begin(local);
            wait.code()
        }
        word if word & WAKERLESS != 0 => wait.code(),
        INNER_WAITS => wait.code() | WAIT_ONE_OF_SEVERAL,
        before => combine_codes((before - 1) as u8, is_same_wait(local, site, wait), wait),
    };
    loop {
        local.announced_site.store(site.0, Ordering::Relaxed);
        local.announced_arg.store(wait.resource, Ordering::Relaxed);
        store_code(local, u64::from(code) + 1);
        compiler_fence(Ordering::SeqCst);
        if is_same_wait(local, site, wait) {
            return;
        }
        // A handler has interrupted this loop, and announced something else.
    }
}

/// The word of the announcement, 0 for none.
#[inline]
fn announced(local: &Local) -> u64 {
    match local.current.load(Ordering::Relaxed) & HAS_ANNOUNCEMENT {
        0 => 0,
        _ => local.announced_code.load(Ordering::Relaxed),
    }
}

/// Whether a leaf future has announced a wait in this run.
#[cfg(feature = "alloc")]
pub(crate) fn is_announced(local: &Local) -> bool {
    ![0, INNER_WAITS].contains(&announced(local))
}

/// Starts an announcement, which is empty so far.
fn begin(local: &Local) {
    store_code(local, 0);
    compiler_fence(Ordering::SeqCst);
    sync::set(&local.current, HAS_ANNOUNCEMENT);
    compiler_fence(Ordering::SeqCst);
}

fn store_code(local: &Local, code: u64) {
    local.announced_code.store(code, Ordering::Relaxed);
}

/// Records that an inner coroutine waits, which the coroutine that runs here has polled. The end of
/// that wait can continue the outer coroutine too, whatever else the outer coroutine announces.
#[cold]
pub(crate) fn mark_inner_wait(local: &Local) {
    begin(local);
    store_code(local, INNER_WAITS);
}

/// Takes the announcement: the site, and code and resource of the wait. If the announcing future has
/// dropped its waker, and the poll left no `wakers` behind, that future was dropped: there is no wait.
#[inline]
pub(crate) fn take(local: &Local, wakers: PollWakers) -> Option<(SiteWord, u8, u64)> {
    let code = match announced(local) {
        INNER_WAITS => None,
        code if code & WAKERLESS != 0 && wakers == PollWakers::Unregistered => None,
        code => code.checked_sub(1),
    }?;
    store_code(local, 0);
    let site = SiteWord(local.announced_site.load(Ordering::Relaxed));
    Some((
        site,
        code as u8,
        local.announced_arg.load(Ordering::Relaxed),
    ))
}

/// Records the number of wakers after the latest announcement.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn set_waker_count(local: &Local, clones: usize) {
    change(local, |code| code | (clones as u64 * CLONE_UNIT));
}

/// Marks that the latest announcer may be gone, so that the wait may be for something else.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn mark_uncertain(local: &Local) {
    change(local, |word| {
        let code = (word - 1) as u8 | WAIT_ONE_OF_SEVERAL;
        word & !u64::from(u8::MAX) | (u64::from(code) + 1)
    });
}

/// Marks that the announcer has no waker left.
#[cfg(feature = "alloc")]
#[cold]
pub(crate) fn mark_wakerless(local: &Local) {
    change(local, |code| code | WAKERLESS);
}

/// Records that one of `clones` wakers is dropped. Returns true if fewer are left than at the
/// announcement. A leaf that takes a new waker and drops its old waker does not reduce the number.
#[cfg(feature = "alloc")]
#[inline]
pub(crate) fn mark_dropped_waker(local: &Local, clones: usize) -> bool {
    let were = announced(local) / CLONE_UNIT;
    let is_fewer = were != 0 && clones as u64 <= were;
    if is_fewer {
        change(local, |code| code | WAKER_DROPPED);
    }
    is_fewer
}

/// Forgets an announcement of a leaf that has no waker left, because another wait follows. If that
/// wait has been announced already, its announcement stays. If the announcer most likely has no
/// waker, but may have one, the next announcement gets a mark.
#[cfg(feature = "alloc")]
#[cold]
pub(crate) fn forget_superseded(local: &Local) {
    let code = announced(local);
    let rest = match () {
        () if code & WAKERLESS != 0 => 0,
        () if code & WAKER_DROPPED != 0 => INNER_WAITS,
        () => code,
    };
    store_code(local, rest);
}

/// Changes the word of the latest announcement, if any.
#[cfg(feature = "alloc")]
#[inline(always)]
fn change(local: &Local, to: impl FnOnce(u64) -> u64) {
    let code = announced(local);
    if ![0, INNER_WAITS].contains(&code) {
        store_code(local, to(code));
    }
}

/// Whether the wait was announced before in this run: a future that is polled twice counts as a single
/// wait.
fn is_same_wait<S>(local: &Local, site: SiteWord, wait: &Wait<S>) -> bool {
    local.announced_site.load(Ordering::Relaxed) == site.0
        && local.announced_arg.load(Ordering::Relaxed) == wait.resource
}

/// Several waits are expected to be long only if each of them is.
fn combine_codes<S>(before: u8, is_same: bool, wait: &Wait<S>) -> u8 {
    let code = wait.code() | before & WAIT_ONE_OF_SEVERAL;
    if is_same {
        code
    } else {
        (code & (before | !WAIT_IDLE)) | WAIT_ONE_OF_SEVERAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announced_code(local: &Local) -> u8 {
        (local.announced_code.load(Ordering::Relaxed) - 1) as u8
    }

    fn fd(number: i32) -> Wait {
        Wait::readable(number)
    }

    #[test]
    fn repeated_poll_of_a_future_is_a_single_wait() {
        let local = Local::new();
        announce(&local, SiteWord(5), &fd(7).idle());
        announce(&local, SiteWord(5), &fd(7).idle());
        assert_eq!(announced_code(&local), fd(7).idle().code());
    }

    #[test]
    fn last_of_several_waits_is_kept_and_marked() {
        let local = Local::new();
        announce(&local, SiteWord(5), &fd(7));
        announce(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(
            announced_code(&local),
            Wait::timer(0).code() | WAIT_ONE_OF_SEVERAL
        );
        assert_eq!(local.announced_arg.load(Ordering::Relaxed), 9);
        announce(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(
            announced_code(&local),
            Wait::timer(0).code() | WAIT_ONE_OF_SEVERAL
        );
    }

    #[test]
    fn wait_next_to_an_inner_wait_is_marked() {
        let local = Local::new();
        mark_inner_wait(&local);
        announce(&local, SiteWord(5), &fd(7));
        assert_eq!(announced_code(&local), fd(0).code() | WAIT_ONE_OF_SEVERAL);
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn finished_wait_is_replaced_by_the_next_in_any_order() {
        let kind = |local: &Local| local.announced_code.load(Ordering::Relaxed);
        let local = Local::new();
        announce(&local, SiteWord(5), &fd(7));
        mark_wakerless(&local);
        mark_uncertain(&local);
        assert_eq!(
            announced_code(&local),
            fd(7).one_of_several().code(),
            "no wait follows"
        );
        announce(&local, SiteWord(6), &Wait::timer(9));
        forget_superseded(&local);
        assert_eq!(
            announced_code(&local),
            Wait::timer(0).code(),
            "announced already"
        );
        mark_wakerless(&local);
        forget_superseded(&local);
        assert_eq!(kind(&local), 0);
        mark_inner_wait(&local);
        mark_wakerless(&local);
        forget_superseded(&local);
        assert_eq!(kind(&local), INNER_WAITS, "the inner coroutine still waits");
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn wait_without_likely_waker_is_replaced_and_marked() {
        let local = Local::new();
        announce(&local, SiteWord(5), &fd(7));
        assert!(!mark_dropped_waker(&local, 1), "unknown number of wakers");
        set_waker_count(&local, 2);
        assert!(
            !mark_dropped_waker(&local, 3),
            "another waker was taken before"
        );
        forget_superseded(&local);
        assert_eq!(announced_code(&local), fd(7).code());
        mark_uncertain(&local);
        assert!(mark_dropped_waker(&local, 2));
        assert_eq!(
            announced_code(&local),
            fd(7).one_of_several().code(),
            "no wait follows"
        );
        forget_superseded(&local);
        assert_eq!(local.announced_code.load(Ordering::Relaxed), INNER_WAITS);
        announce(&local, SiteWord(6), &Wait::timer(9));
        assert_eq!(
            announced_code(&local),
            Wait::timer(0).one_of_several().code()
        );
        assert!(!mark_dropped_waker(&local, 1), "announced again");
    }

    #[test]
    fn several_waits_are_idle_only_if_each_is() {
        let code = |waits: [Wait; 2]| {
            let local = Local::new();
            announce(&local, SiteWord(5), &waits[0]);
            announce(&local, SiteWord(6), &waits[1]);
            announced_code(&local) & WAIT_IDLE
        };
        assert_eq!(code([fd(1).idle(), fd(2).idle()]), WAIT_IDLE);
        assert_eq!(fd(1).idle().one_of_several().code(), 1 | 32 | 64);
        assert_eq!(code([fd(1), fd(2).idle()]), 0);
        assert_eq!(code([fd(1).idle(), fd(2)]), 0);
    }
}
