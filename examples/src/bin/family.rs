//! The trace should show the parents that this program prints: `child parent` a line, with `-` for
//! a child that no coroutine spawned. Elders move between threads while they have children, aunts
//! have children inside an awaited future, cousins have cousins, and uncles end early.

use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ctp_nostd::{self as ctp, TracedExt as _};
use tokio::task::yield_now;
use tokio::time::sleep;

const ELDERS: u32 = 8;
const GENERATIONS: u32 = 4;

/// A unique name for a child; prints its parent.
fn born(kind: &str, parent: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("{kind}-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    println!("{name} {parent}");
    name
}

async fn elder(name: String) {
    for _ in 0..5 {
        let aunt = born("aunt", &name);
        tokio::spawn(self::aunt(aunt.clone()).traced_as(&aunt));
        sleep(Duration::from_millis(1)).await;
        let uncle = born("uncle", &name);
        tokio::spawn(self::uncle(uncle.clone()).traced_as(&uncle));
        yield_now().await;
    }
    pending().await
}

async fn aunt(name: String) {
    yield_now().await;
    let guest = born("guest", &name);
    visit(guest.clone()).traced_as(&guest).await;
    cousin(&name, 1);
    pending().await
}

/// Runs inside the coroutine that awaits it.
async fn visit(name: String) {
    let nephew = born("nephew", &name);
    tokio::spawn(pending::<()>().traced_as(&nephew));
    yield_now().await;
    let nephew = born("nephew", &name);
    tokio::spawn(pending::<()>().traced_as(&nephew));
}

fn cousin(parent: &str, generation: u32) {
    let name = born("cousin", parent);
    let own = name.clone();
    let life = async move {
        yield_now().await;
        if generation < GENERATIONS {
            cousin(&own, generation + 1);
        }
        pending::<()>().await
    };
    tokio::spawn(life.traced_as(&name));
}

async fn uncle(name: String) {
    let orphan = born("orphan", &name);
    tokio::spawn(pending::<()>().traced_as(&orphan));
    let _ = tokio::task::spawn_blocking(|| {
        let stranger = born("stranger", "-");
        tokio::spawn(pending::<()>().traced_as(&stranger));
    })
    .await;
}

fn main() -> std::io::Result<()> {
    ctp::attach(); // before the runtime starts its threads
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(4).enable_time().build()?;
    for _ in 0..ELDERS {
        let name = born("elder", "-");
        runtime.spawn(elder(name.clone()).traced_as(&name));
    }
    std::thread::sleep(Duration::from_millis(1500));
    // Exits without cancelling tasks.
    std::process::exit(0)
}
