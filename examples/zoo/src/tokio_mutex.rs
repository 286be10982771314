//! The mutex of tokio, which tells who holds it in the lines that name `ctp`.

use std::future::Future;
use std::panic::Location;

use ctp_nostd as ctp;

use crate::told;

/// As [`tokio::sync::Mutex`].
#[derive(Debug, Default)]
pub struct TokioMutex<T>(tokio::sync::Mutex<T>);

/// As [`tokio::sync::MutexGuard`].
#[derive(Debug)]
pub struct TokioHeld<'m, T> {
    address: usize,
    guard: tokio::sync::MutexGuard<'m, T>,
}

impl<T> TokioMutex<T> {
    /// Takes it, once it is free.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = TokioHeld<'_, T>> {
        self.lock_at(ctp::Wait::lock(self.address()), Location::caller())
    }

    /// The same, for a future that is not all that its task waits for.
    #[track_caller]
    pub fn lock_among_others(&self) -> impl Future<Output = TokioHeld<'_, T>> {
        let wait = ctp::Wait::lock(self.address()).one_of_several();
        self.lock_at(wait, Location::caller())
    }

    async fn lock_at(
        &self,
        wait: ctp::Wait,
        place: &'static Location<'static>,
    ) -> TokioHeld<'_, T> {
        let guard = told(self.0.lock(), wait).await;
        let address = self.address();
        ctp::acquired_at(address, place);
        TokioHeld { address, guard }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<T> TokioHeld<'_, T> {
    /// What it guards.
    pub fn value(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// The guard inside is dropped after this.
impl<T> Drop for TokioHeld<'_, T> {
    fn drop(&mut self) {
        ctp::released(self.address);
    }
}
