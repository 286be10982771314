//! Tasks that wait for several futures at once, of which one has a fault.

use tokio::sync::Notify;

use crate::faults::Forgetful;
use crate::registry::{awaits_at, register, spawn_bare};

/// `count` tasks that wait in each of `select!` and `join!`, for a future that keeps no waker and for an
/// event that never comes.
pub fn start(count: usize) {
    for _ in 0..count {
        let shutdown: &Notify = Box::leak(Box::new(Notify::new()));
        spawn_bare(either(shutdown));
        spawn_bare(both(shutdown));
    }
}

async fn either(shutdown: &Notify) {
    let _registration = register("select").await;
    awaits_at("select", line!() + 1);
    tokio::select! {
        () = request() => {}
        () = shutdown.notified() => {}
    }
}

async fn both(shutdown: &Notify) {
    let _registration = register("join").await;
    awaits_at("join", line!() + 1);
    tokio::join!(request(), shutdown.notified());
}

async fn request() {
    awaits_at("request", line!() + 1);
    Forgetful.await;
}
