//! Tasks with nested async functions, which wait for a reply.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::log::spawn;

/// This many tasks are started in all.
pub const TASKS: usize = 2_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// A request, of a type of its own for each number.
pub struct Request<const N: usize> {
    number: usize,
    reply: oneshot::Receiver<u64>,
}

/// Starts a task. Each number has async functions of its own.
pub fn start<const N: usize>() {
    let (sender, reply) = oneshot::channel();
    Box::leak(Box::new(sender));
    let number = black_box(N);
    // The task lives as long as the program.
    drop(spawn(connection(Request::<N> { number, reply })));
}

async fn connection<const N: usize>(request: Request<N>) {
    let mut requests = BTreeMap::from([(request.number, request)]);
    while let Some((number, request)) = requests.pop_first() {
        let answer = session(request).await;
        black_box((number, answer));
    }
}

async fn session<const N: usize>(request: Request<N>) -> u64 {
    let name = format!("request {}", black_box(N));
    let answer = tokio::time::timeout(HOUR, handle(request)).await;
    answer.map_or(name.len() as u64, |answer| answer + N as u64)
}

async fn handle<const N: usize>(request: Request<N>) -> u64 {
    let answer = read_reply(request).await;
    answer.unwrap_or(black_box(N) as u64)
}

async fn read_reply<const N: usize>(request: Request<N>) -> Option<u64> {
    let answer = request.reply.await.ok()?;
    Some(answer + black_box(N) as u64)
}
