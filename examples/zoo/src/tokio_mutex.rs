//! The mutex of tokio, which reports its holder in the lines that name `ctp`.

use std::future::Future;
use std::panic::Location;

use ctp_nostd as ctp;

use crate::announced;

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
    /// Takes the lock, once it is free.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = TokioHeld<'_, T>> {
        let address = std::ptr::from_ref(self).addr();
        let (wait, place) = (ctp::Wait::lock(address), Location::caller());
        async move {
            let guard = announced(self.0.lock(), wait).await;
            ctp::acquired_at(address, place);
            TokioHeld { address, guard }
        }
    }
}

impl<T> TokioHeld<'_, T> {
    /// The protected value.
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
