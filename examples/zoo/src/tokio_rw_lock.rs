//! The `RwLock` of tokio, which reports its holders in the lines that name `ctp`.

use std::future::Future;
use std::panic::Location;

use ctp_nostd as ctp;

use crate::announced;

/// As [`tokio::sync::RwLock`].
#[derive(Debug, Default)]
pub struct TokioRwLock<T>(tokio::sync::RwLock<T>);

/// As [`tokio::sync::RwLockReadGuard`].
#[derive(Debug)]
pub struct TokioReading<'l, T> {
    address: usize,
    guard: tokio::sync::RwLockReadGuard<'l, T>,
}

/// As [`tokio::sync::RwLockWriteGuard`].
#[derive(Debug)]
pub struct TokioWriting<'l, T> {
    address: usize,
    guard: tokio::sync::RwLockWriteGuard<'l, T>,
}

impl<T> TokioRwLock<T> {
    /// Locks for reading, behind the writers that already wait.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = TokioReading<'_, T>> {
        let address = std::ptr::from_ref(self).addr();
        let (wait, place) = (ctp::Wait::lock(address), Location::caller());
        async move {
            let guard = announced(self.0.read(), wait).await;
            ctp::acquired_shared_at(address, place);
            TokioReading { address, guard }
        }
    }

    /// Locks for reading, and does not report it.
    pub fn read_silently(&self) -> impl Future<Output = tokio::sync::RwLockReadGuard<'_, T>> {
        self.0.read()
    }

    /// Locks for writing, once no other guard exists.
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = TokioWriting<'_, T>> {
        let address = std::ptr::from_ref(self).addr();
        let (wait, place) = (ctp::Wait::lock(address), Location::caller());
        async move {
            let guard = announced(self.0.write(), wait).await;
            ctp::acquired_at(address, place);
            TokioWriting { address, guard }
        }
    }
}

impl<T> TokioReading<'_, T> {
    /// The protected value.
    pub fn value(&self) -> &T {
        &self.guard
    }
}

impl<T> TokioWriting<'_, T> {
    /// The protected value.
    pub fn value(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// The guard inside is dropped after this.
impl<T> Drop for TokioReading<'_, T> {
    fn drop(&mut self) {
        ctp::released(self.address);
    }
}

/// The guard inside is dropped after this.
impl<T> Drop for TokioWriting<'_, T> {
    fn drop(&mut self) {
        ctp::released(self.address);
    }
}
