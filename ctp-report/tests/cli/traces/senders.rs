//! Workers that wait for jobs, and the senders of these jobs.

use ctp_trace::record::*;

use super::builder::{self, Beat, Coroutine, MONOTONIC, MS, SECOND, Trace, wait};

const WORKERS: &str = "src/workers.rs";

struct Sites {
    spawn: SiteId,
    receive: SiteId,
    send: SiteId,
    rest: SiteId,
}

/// Three workers had twenty jobs each. Of those that sent the last ones, one has ended, and one is at
/// rest since. A fourth worker had jobs until two seconds before the end.
pub fn senders() -> Vec<u8> {
    let mut t = Trace::of("./senders");
    let sites = Sites {
        spawn: t.source(WORKERS, 6),
        receive: t.source(WORKERS, 12),
        send: t.source(WORKERS, 21),
        rest: t.source(WORKERS, 24),
    };
    t.dispatch = Some(sites.send);
    let cron = sender(&mut t, &sites, "cron");
    let reader = sender(&mut t, &sites, "reader");
    for (i, last) in (0..).zip([reader, cron, cron]) {
        worker(&mut t, &sites, i, last);
    }
    t.death(reader, SECOND);
    handled(&mut t, &sites);
    let due = MONOTONIC + 60 * SECOND;
    t.suspend(
        cron,
        2 * SECOND,
        4126,
        wait(sites.rest, WaitKind::Timer, due),
    );
    t.event_counts(cron, None, false);
    t.finish()
}

fn sender(t: &mut Trace, sites: &Sites, name: &str) -> Coroutine {
    let coroutine = t.born(name, sites.spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 2 * MS, 4126);
    coroutine
}

fn worker(t: &mut Trace, sites: &Sites, i: u64, last: Coroutine) {
    let coroutine = t.born("worker", sites.spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 3 * MS, 4127);
    let queue = wait(sites.receive, WaitKind::Channel, 0x7f00_1000 + i * 64);
    let beat = Beat {
        from: 4 * MS,
        period: 30 * MS,
        length: 20 * MS,
        queued: MS,
        times: 20,
    };
    let woken = t.healthy(coroutine, queue, &beat);
    let (job, ends) = (900 * MS + i * MS, 910 * MS + i * MS);
    t.suspend(coroutine, 880 * MS, 4127, counted(queue, woken));
    let call = WakeCall {
        coroutine: coroutine.0,
        count: u32::from(woken) + 1,
        by: Waker::Coroutine(last.0),
        site: sites.send,
    };
    t.thread_event(job, 4126, Act::Wake(call));
    t.wake(coroutine, call.count, job, call.by);
    t.run(coroutine, job + MS, 4127);
    t.suspend(coroutine, ends, 4127, counted(queue, woken + 1));
    t.event_counts(coroutine, None, false);
}

/// A worker whose jobs come from elsewhere, until two seconds before the end.
fn handled(t: &mut Trace, sites: &Sites) {
    let coroutine = t.born("worker", sites.spawn, MS);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 3 * MS, 4128);
    let beat = Beat {
        from: 4 * MS,
        period: 30 * MS,
        length: 20 * MS,
        queued: MS,
        times: 346,
    };
    t.dispatch = None;
    let queue = wait(sites.receive, WaitKind::Channel, 0x7f00_2000);
    t.healthy_until(coroutine, queue, &beat, 10_385 * MS);
    t.event_counts(coroutine, None, false);
}

/// A consumer had a message from each of twenty producers. All of them have ended.
pub fn consumer() -> Vec<u8> {
    let mut t = Trace::of("./consumer");
    let spawn = t.source(WORKERS, 6);
    let queue = wait(t.source(WORKERS, 12), WaitKind::Channel, 0x7f00_1000);
    let send = t.source(WORKERS, 21);
    let consumer = t.born("consumer", spawn, MS);
    t.wake(consumer, 0, 0, Waker::Foreign);
    t.run(consumer, 2 * MS, 4127);
    for i in 0..20 {
        let at = 10 * MS + u64::from(i) * 30 * MS;
        t.suspend(consumer, at, 4127, counted(queue, i));
        let producer = t.born("producer", spawn, at);
        t.wake(producer, 0, 0, Waker::Foreign);
        t.run(producer, at + MS, 4126);
        let call = WakeCall {
            coroutine: consumer.0,
            count: u32::from(i) + 1,
            by: Waker::Coroutine(producer.0),
            site: send,
        };
        t.thread_event(at + 11 * MS, 4126, Act::Wake(call));
        t.wake(consumer, call.count, at + 11 * MS, call.by);
        t.run(consumer, at + 12 * MS, 4127);
        t.death(producer, at + 13 * MS);
    }
    t.suspend(consumer, 700 * MS, 4127, counted(queue, 20));
    t.event_counts(consumer, None, false);
    t.finish()
}

fn counted(wait: builder::Wait, wake_seen: u16) -> builder::Wait {
    builder::Wait { wake_seen, ..wait }
}
