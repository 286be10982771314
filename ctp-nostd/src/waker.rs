//! The handle with which a coroutine's wakes are told.

use core::marker::PhantomData;

use crate::layout::{Station, WAKER_IS_THREAD};
use crate::platform::Platform;
use crate::sync::Ordering;
use crate::wake;

/// Tells that a coroutine is woken. Any thread may hold one, also after the coroutine's end.
pub struct Waker<P> {
    seat: Option<(&'static Station, u32)>,
    attachment: u32,
    platform: PhantomData<fn() -> P>,
}

impl<P> Clone for Waker<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Waker<P> {}

impl<P> core::fmt::Debug for Waker<P> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let generation = self.seat.map(|(_, generation)| generation);
        out.debug_tuple("Waker").field(&generation).finish()
    }
}

impl<P: Platform> Waker<P> {
    /// Tells nothing.
    pub const fn mute() -> Self {
        Waker {
            seat: None,
            attachment: 0,
            platform: PhantomData,
        }
    }

    pub(crate) fn new(station: &'static Station, generation: u32, attachment: u32) -> Self {
        Waker {
            seat: Some((station, generation)),
            attachment,
            platform: PhantomData,
        }
    }

    /// The coroutine is about to be made ready. Call this *before* it is queued: the other order
    /// would call a coroutine not woken that is (see [`crate::wake`]). One that uses up a wake
    /// without being suspended in between, as a permit, [runs](crate::Coroutine::run) anew.
    #[inline]
    pub fn wake(&self) {
        let Some((station, generation)) = self.seat else {
            return;
        };
        if P::attachment() != self.attachment {
            return;
        }
        let is_there = station.generation.load(Ordering::Relaxed) == generation;
        if is_there && wake::advance(&station.wake, generation) {
            station.waker.store(who::<P>(), Ordering::Relaxed);
            station.wake_ts.store(P::now_ns(), Ordering::Relaxed);
        }
    }
}

/// The coroutine that runs on this thread, else the thread.
fn who<P: Platform>() -> u32 {
    match P::local().map(|local| local.current.load(Ordering::Relaxed)) {
        None | Some(0) => WAKER_IS_THREAD | P::thread() as u32,
        Some(seat_word) => seat_word as u32,
    }
}
