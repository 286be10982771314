//! Tasks: they end, they wait for each other, none is lost under many wakes, panics stay inside.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mini_rt::{JoinError, Runtime, sleep, spawn, yield_now};

#[test]
fn results_come_back() {
    let runtime = Runtime::new(2).unwrap();
    let sum = runtime.block_on(async {
        let handles: Vec<_> = (0..1000).map(|n| spawn(async move { n })).collect();
        let mut sum = 0;
        for handle in handles {
            sum += handle.await.unwrap();
        }
        sum
    });
    assert_eq!(sum, 999 * 1000 / 2);
}

#[test]
fn a_panic_ends_only_the_task() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("expected, in a destructor");
        }
    }
    let runtime = Runtime::new(1).unwrap();
    runtime.block_on(async {
        let polled = spawn(async { panic!("expected, in a poll") });
        assert_eq!(polled.await, Err::<(), _>(JoinError));
        let bomb = spawn(async {
            let bomb = Bomb;
            poll_fn(|_| Poll::<()>::Pending).await;
            drop(bomb);
        });
        assert_eq!(bomb.await, Err(JoinError));
        assert_eq!(spawn(async { 7 }).await, Ok(7));
    });
}

#[test]
fn sleeps_end_in_order_and_not_too_early() {
    let runtime = Runtime::new(2).unwrap();
    runtime.block_on(async {
        let start = Instant::now();
        let handles: Vec<_> = [40, 10, 30, 20]
            .map(|ms| {
                spawn(async move {
                    sleep(Duration::from_millis(ms)).await;
                    (ms, start.elapsed())
                })
            })
            .into();
        for handle in handles {
            let (ms, took) = handle.await.unwrap();
            assert!(took >= Duration::from_millis(ms), "{took:?} for {ms} ms");
        }
        assert!(start.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_shorter_sleep_ends_a_longer_wait() {
    let runtime = Runtime::new(1).unwrap();
    let (done, end) = mpsc::channel();
    runtime.spawn(async { sleep(Duration::from_secs(3600)).await });
    thread::sleep(Duration::from_millis(20));
    runtime.spawn(async move {
        sleep(Duration::from_millis(10)).await;
        done.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(10)).unwrap();
}

#[test]
fn no_wake_from_another_thread_is_lost() {
    const ROUNDS: u32 = 20_000;
    let runtime = Runtime::new(2).unwrap();
    let (send, receive) = mpsc::channel::<(Waker, Arc<AtomicBool>)>();
    let waking = thread::spawn(move || {
        for (waker, flag) in receive {
            flag.store(true, Ordering::Relaxed);
            waker.wake();
        }
    });
    let handles: Vec<_> = (0..4)
        .map(|_| {
            let send = send.clone();
            runtime.spawn(async move {
                for _ in 0..ROUNDS {
                    let flag = Arc::new(AtomicBool::new(false));
                    let mut requested = false;
                    poll_fn(|context| {
                        if !requested {
                            requested = true;
                            let request = (context.waker().clone(), Arc::clone(&flag));
                            send.send(request).unwrap();
                        }
                        if flag.load(Ordering::Relaxed) {
                            Poll::Ready(())
                        } else {
                            Poll::Pending
                        }
                    })
                    .await;
                }
            })
        })
        .collect();
    drop(send);
    runtime.block_on(async {
        for handle in handles {
            handle.await.unwrap();
        }
    });
    waking.join().unwrap();
}

#[test]
fn yielding_lets_other_tasks_run() {
    let runtime = Runtime::new(1).unwrap();
    let turn = Arc::new(AtomicU32::new(0));
    let player = |me: u32| {
        let turn = Arc::clone(&turn);
        async move {
            for _ in 0..1000 {
                while turn.load(Ordering::Relaxed) % 3 != me {
                    yield_now().await;
                }
                turn.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let handles = [0, 1, 2].map(|me| runtime.spawn(player(me)));
    runtime.block_on(async {
        for handle in handles {
            handle.await.unwrap();
        }
    });
    assert_eq!(turn.load(Ordering::Relaxed), 3000);
}

#[test]
fn a_blocked_worker_does_not_delay_the_other() {
    let runtime = Runtime::new(2).unwrap();
    let (release, blocked) = mpsc::channel::<()>();
    runtime.spawn(async move { blocked.recv() });
    runtime.block_on(async {
        for _ in 0..100 {
            spawn(async { sleep(Duration::from_millis(1)).await })
                .await
                .unwrap();
        }
    });
    release.send(()).unwrap();
}

#[test]
fn stopping_drops_waiting_tasks() {
    struct DropFlag(Arc<AtomicU32>);
    impl Drop for DropFlag {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicU32::new(0));
    let runtime = Runtime::new(2).unwrap();
    for _ in 0..10 {
        let notified = DropFlag(Arc::clone(&dropped));
        runtime.spawn(async move {
            sleep(Duration::from_secs(3600)).await;
            drop(notified);
        });
    }
    thread::sleep(Duration::from_millis(20));
    drop(runtime);
    assert_eq!(dropped.load(Ordering::Relaxed), 10);
}
