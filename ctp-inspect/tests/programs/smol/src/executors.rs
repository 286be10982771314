//! Tasks on executors of the program's own: a `LocalExecutor`, which runs in the main thread, and a `StaticExecutor`,
//! which keeps no list of its tasks.

use async_executor::StaticExecutor;
use smol::LocalExecutor;
use smol::channel::bounded;

use crate::waits::{Forgetful, receiving};
use crate::{announce, awaits_at, count_spawned, finish};

static EXECUTOR: StaticExecutor = StaticExecutor::new();

/// Spawns tasks on both executors, polls them, and then runs the `LocalExecutor` for ever.
pub fn run_all(count: usize) {
    let local = LocalExecutor::new();
    let (sender, receiver) = bounded(1);
    let mut kept = Vec::new();
    for _ in 0..count {
        (0..4).for_each(|_| count_spawned());
        kept.push(local.spawn(receiving("local-receiving", receiver.clone())));
        local.spawn(forgetting("local-forgetting")).detach();
        kept.push(EXECUTOR.spawn(receiving("static-receiving", receiver.clone())));
        kept.push(EXECUTOR.spawn(forgetting("static-forgetting")));
    }
    while local.try_tick() || EXECUTOR.try_tick() {}
    smol::block_on(local.run(async {
        awaits_at("main", line!() + 2);
        finish();
        std::future::pending::<()>().await
    }));
    drop((sender, kept));
}

async fn forgetting(kind: &str) {
    announce(kind).await;
    awaits_at("executors.forgetting", line!() + 1);
    Forgetful.await
}
