//! Requests of a server that wait in a future which the program implements itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use crate::{Connection, Dispatcher, spawn};

/// Wakers that no future leads to.
static ELSEWHERE: Mutex<Vec<Waker>> = Mutex::new(Vec::new());

/// What a pool does with wakers.
#[derive(Clone, Copy)]
enum Wakers {
    Keeps,
    Loses,
    KeepsElsewhere,
}

struct Pool {
    wakers: Wakers,
    waiters: Mutex<Vec<Waker>>,
}

struct GetPermit<'p> {
    pool: &'p Pool,
}

impl Future for GetPermit<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let waker = context.waker().clone();
        match self.pool.wakers {
            Wakers::Keeps => self.pool.waiters.lock().unwrap().push(waker),
            Wakers::Loses => drop(waker),
            Wakers::KeepsElsewhere => ELSEWHERE.lock().unwrap().push(waker),
        }
        Poll::Pending
    }
}

async fn request(pool: Arc<Pool>) {
    GetPermit { pool: &pool }.await;
}

async fn serve(pool: Arc<Pool>, shutdown: Arc<Notify>) {
    let in_flight = Box::pin(Some(request(pool)));
    let mut connection = std::pin::pin!(Connection {
        dispatcher: Dispatcher { in_flight },
    });
    tokio::select! {
        _ = connection.as_mut() => {}
        () = shutdown.notified() => {}
    }
}

/// Spawns a connection for each kind of pool.
pub fn spawn_all() {
    let shutdown = Arc::new(Notify::new());
    for (name, wakers) in [
        ("permit.kept", Wakers::Keeps),
        ("permit.lost", Wakers::Loses),
        ("permit.elsewhere", Wakers::KeepsElsewhere),
    ] {
        let waiters = Mutex::default();
        let pool = Arc::new(Pool { wakers, waiters });
        spawn(name, serve(pool, Arc::clone(&shutdown)));
    }
}
