//! Tasks that hold locks while they wait, in many ways.

use std::sync::Arc;

use tokio::sync::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedSemaphorePermit, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore,
};

use crate::spawn;

pub fn spawn_all() {
    spawn("dropped_guard", dropped_guard(Arc::new(Mutex::new(0))));
    spawn(
        "moved",
        moved_on_a_path(Arc::new(Mutex::new(0)), std::env::args().count() == 1),
    );
    spawn("temporary", temporary(Arc::new(Mutex::new(Vec::new()))));
    spawn("optional", optional(Arc::new(RwLock::new(0))));
    spawn("permitted", permitted(Arc::new(Semaphore::new(2))));
    spawn("session", session(Arc::new(Mutex::new(0)), Arc::new(Semaphore::new(2))));
    spawn("enclosed", enclosed(Arc::new(RwLock::new(0)), Arc::new(Mutex::new((1, 2)))));
    spawn("kept_read", kept_read(Arc::new(RwLock::new(0))));
    spawn("given_up", given_up(Arc::new(Mutex::new(0))));
}

/// A connection with the lock of its account, and a place among all connections.
struct Session {
    _account: OwnedMutexGuard<u32>,
    _place: Option<OwnedSemaphorePermit>,
}

enum Access<'l> {
    Write(RwLockWriteGuard<'l, u32>),
    Read(RwLockReadGuard<'l, u32>),
}

struct Part<'l> {
    access: Access<'l>,
    second: MappedMutexGuard<'l, u32>,
}

async fn session(account: Arc<Mutex<u32>>, places: Arc<Semaphore>) {
    let session = Session {
        _account: account.clone().lock_owned().await,
        _place: places.clone().acquire_owned().await.ok(),
    };
    std::future::pending::<()>().await;
    drop(session);
}

async fn enclosed(lock: Arc<RwLock<u32>>, pair: Arc<Mutex<(u32, u32)>>) {
    let part = Box::new(Part {
        access: Access::Write(lock.write().await),
        second: MutexGuard::map(pair.lock().await, |pair| &mut pair.1),
    });
    std::future::pending::<()>().await;
    match &part.access {
        Access::Write(guard) => println!("{} {}", **guard, *part.second),
        Access::Read(guard) => println!("{} {}", **guard, *part.second),
    }
}

async fn kept_read(lock: Arc<RwLock<u32>>) {
    let guards: [OwnedRwLockReadGuard<u32>; 1] = [lock.clone().read_owned().await];
    let (guard, number) = (guards.into_iter().next(), 1);
    std::future::pending::<()>().await;
    drop((guard, number));
}

/// The guard in the struct was given up.
async fn given_up(lock: Arc<Mutex<u32>>) {
    let mut session = (Some(lock.lock().await), 1);
    session.0 = None;
    std::future::pending::<()>().await;
    drop(session);
}

async fn dropped_guard(lock: Arc<Mutex<u32>>) {
    let mut guard = lock.lock().await;
    *guard += 1;
    drop(guard);
    std::future::pending::<()>().await;
}

async fn moved_on_a_path(lock: Arc<Mutex<u32>>, is_moved: bool) {
    let mut guard = lock.lock().await;
    *guard += 1;
    if is_moved {
        drop(guard);
    }
    std::future::pending::<()>().await;
}

async fn temporary(lock: Arc<Mutex<Vec<u32>>>) {
    match lock.lock().await.len() {
        0 => std::future::pending::<()>().await,
        _ => {}
    }
}

async fn optional(lock: Arc<RwLock<u32>>) {
    let present = Some(lock.write().await);
    let absent = present.as_ref().filter(|_| false);
    std::future::pending::<()>().await;
    drop((absent.is_some(), present));
}

async fn permitted(semaphore: Arc<Semaphore>) {
    let permit = semaphore.acquire().await.expect("it is open");
    std::future::pending::<()>().await;
    drop(permit);
}
