//! The `LocalPool` of the crate `futures`.

use std::hint::black_box;
use std::thread;

use futures::executor::LocalPool;
use futures::task::LocalSpawnExt;

use crate::{awaits_at, Never};

async fn pooled(number: u64) {
    if number == 0 {
        awaits_at("pooled", line!() + 2);
    }
    Never.await;
    black_box(number);
}

pub fn run() {
    let worker = thread::Builder::new().name("pool".to_owned());
    let spawned = worker.spawn(|| {
        let mut pool = LocalPool::new();
        for number in 0..5 {
            pool.spawner().spawn_local(pooled(number)).unwrap();
        }
        pool.run_until_stalled();
        println!("pooled");
        pool.run();
    });
    drop(spawned);
    thread::sleep(std::time::Duration::from_millis(50));
}
