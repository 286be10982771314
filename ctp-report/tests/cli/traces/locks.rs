//! Coroutines that acquire locks, wait for each other, and do not continue.

use ctp_trace::record::*;

use super::builder::{Coroutine, MS, SECOND, Trace, wait};

const ACCOUNTS: &str = "src/accounts.rs";

struct Sites {
    spawn: SiteId,
    take: SiteId,
    want: SiteId,
    join: SiteId,
    read: SiteId,
    close: SiteId,
}

fn sites(t: &mut Trace) -> Sites {
    Sites {
        spawn: t.source("src/session.rs", 6),
        take: t.source(ACCOUNTS, 31),
        want: t.source("src/session.rs", 17),
        join: t.source(ACCOUNTS, 52),
        read: t.source(ACCOUNTS, 60),
        close: t.source("src/reactor.rs", 141),
    }
}

fn lock(number: u64) -> u64 {
    0x7f00_0000_1000 + number * 0x40
}

fn hold(t: &mut Trace, at: u64, coroutine: Coroutine, number: u64, site: SiteId) {
    let hold = Hold {
        wait: WaitKind::Lock,
        arg: lock(number),
        by: Waker::Coroutine(coroutine.0),
        site,
        shared: false,
    };
    t.thread_event(at, 4127, Act::Acquire(hold));
}

/// A coroutine on a separate thread.
fn born(t: &mut Trace, sites: &Sites, name: &str) -> Coroutine {
    let coroutine = t.born(name, sites.spawn, 3 * MS);
    let tid = 4127 + u64::from(coroutine.0.0);
    t.thread_event(3 * MS, tid, Act::Begin);
    t.wake(coroutine, 0, 0, Waker::Foreign);
    t.run(coroutine, 4 * MS, tid);
    coroutine
}

fn wants(t: &mut Trace, sites: &Sites, at: u64, coroutine: Coroutine, number: u64) {
    t.suspend(
        coroutine,
        at,
        4127,
        wait(sites.want, WaitKind::Lock, lock(number)),
    );
}

fn joins(t: &mut Trace, sites: &Sites, at: u64, coroutine: Coroutine, other: Coroutine) {
    let other = t.numbers + u64::from(other.0.0);
    t.suspend(
        coroutine,
        at,
        4127,
        wait(sites.join, WaitKind::Coroutine, other),
    );
}

/// A coroutine waits for a lock with a healthy holder; another has waited for that lock before. A third
/// coroutine was woken just before the end.
pub fn held() -> Vec<u8> {
    let mut t = Trace::of("./accounts");
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let [holder, before, after, woken] =
        ["teller", "audit", "report", "late"].map(|name| born(&mut t, &sites, name));
    wants(&mut t, &sites, 5 * MS, before, 0);
    t.run(before, 15 * MS, 4129);
    t.death(before, 16 * MS);
    hold(&mut t, 20 * MS, holder, 0, sites.take);
    let fd = wait(sites.read, WaitKind::Readable, 9);
    t.suspend(holder, 30 * MS, 4128, fd);
    wants(&mut t, &sites, 40 * MS, after, 0);
    t.suspend(woken, 40 * MS, 4131, fd);
    t.wake(woken, 1, 12_399 * MS + MS / 2, Waker::Foreign);
    for coroutine in [holder, after, woken] {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// Three coroutines wait for each other, by locks and by a join, and two more wait behind them. Single
/// coroutines wait for a lock that they hold, for a lock whose holder ended, behind a lost wakeup, and for a
/// lock with a healthy holder.
pub fn deadlock() -> Vec<u8> {
    let mut t = Trace::of("./accounts");
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let names = [
        "transfer",
        "transfer",
        "audit",
        "report",
        "report",
        "itself",
        "gone",
        "heir",
        "reader",
        "reader_of_reader",
        "well",
        "patient",
    ];
    let all: Vec<Coroutine> = names
        .into_iter()
        .map(|name| born(&mut t, &sites, name))
        .collect();
    let of = |id: usize| all[id - 1];
    for (id, number) in [(1, 1), (2, 2), (6, 6), (7, 7), (9, 9), (11, 11)] {
        hold(&mut t, 10 * MS + number, of(id), number, sites.take);
    }
    wants(&mut t, &sites, 20 * MS, of(1), 2);
    joins(&mut t, &sites, 21 * MS, of(2), of(3));
    wants(&mut t, &sites, 600 * MS, of(3), 1);
    joins(&mut t, &sites, 700 * MS, of(4), of(1));
    joins(&mut t, &sites, 701 * MS, of(5), of(4));
    wants(&mut t, &sites, 30 * MS, of(6), 6);
    t.suspend(of(7), 28 * MS, 4127, wait(sites.read, WaitKind::Timer, 0));
    t.run(of(7), 29 * MS, 4126);
    t.death(of(7), 31 * MS);
    wants(&mut t, &sites, 32 * MS, of(8), 7);
    t.suspend(
        of(9),
        33 * MS,
        4127,
        wait(sites.read, WaitKind::Readable, 17),
    );
    t.close(40 * MS, 4126, WaitKind::Readable, 17, sites.close);
    wants(&mut t, &sites, 41 * MS, of(10), 9);
    t.suspend(of(11), 42 * MS, 4127, wait(sites.read, WaitKind::Timer, 0));
    wants(&mut t, &sites, 43 * MS, of(12), 11);
    for id in [1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12] {
        t.event_counts(of(id), None, false);
    }
    t.finish()
}

/// Seven pairs, each with a deadlock of two. A thread lost a record since.
pub fn pairs() -> Vec<u8> {
    let mut t = Trace::of("./pairs");
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4127, Act::Begin);
    for pair in 0..7 {
        let both = ["left", "right"].map(|name| born(&mut t, &sites, name));
        for (coroutine, number) in both.into_iter().zip([2 * pair, 2 * pair + 1]) {
            hold(&mut t, (10 + pair) * MS, coroutine, number, sites.take);
        }
        for (coroutine, number) in both.into_iter().zip([2 * pair + 1, 2 * pair]) {
            wants(&mut t, &sites, (20 + pair) * MS, coroutine, number);
        }
        both.into_iter()
            .for_each(|coroutine| t.event_counts(coroutine, None, false));
    }
    t.thread_event(3 * SECOND, 4127, Act::Loss(1));
    t.finish()
}

/// Three that wait for others, which their program numbers in its own way: one that lives, one that
/// ended, and one of which nothing is known.
pub fn joins_of_three() -> Vec<u8> {
    let mut t = Trace::of("./joins");
    t.numbers = 1 << 48;
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let names = ["living", "ends", "parent", "parent", "parent"];
    let [living, ends, parents @ ..] = names.map(|name| born(&mut t, &sites, name));
    t.suspend(living, 5 * MS, 4127, wait(sites.read, WaitKind::Timer, 0));
    for (coroutine, other) in parents
        .into_iter()
        .zip([living, ends, Coroutine(CoroutineId(99))])
    {
        joins(&mut t, &sites, 20 * MS, coroutine, other);
    }
    t.death(ends, SECOND);
    for coroutine in parents.into_iter().chain([living]) {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// Forty coroutines, each of which waits for the end of the next.
pub fn ring() -> Vec<u8> {
    let mut t = Trace::of("./ring");
    let sites = sites(&mut t);
    let ring: Vec<Coroutine> = (0..40).map(|_| born(&mut t, &sites, "next")).collect();
    for (i, coroutine) in ring.iter().enumerate() {
        joins(
            &mut t,
            &sites,
            20 * MS,
            *coroutine,
            ring[(i + 1) % ring.len()],
        );
    }
    ring.iter()
        .for_each(|coroutine| t.event_counts(*coroutine, None, false));
    t.finish()
}

/// Two coroutines at a place wait for two locks. The holder of the first lock ended without a release.
pub fn two_locks() -> Vec<u8> {
    let mut t = Trace::of("./two");
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let names = ["gone", "heir", "holder", "wants", "wants"];
    let [missing, heir, holder, wants @ ..] = names.map(|name| born(&mut t, &sites, name));
    for (coroutine, number) in [(missing, 1), (heir, 1), (holder, 2)] {
        hold(&mut t, 10 * MS, coroutine, number, sites.take);
        t.suspend(
            coroutine,
            11 * MS,
            4127,
            wait(sites.read, WaitKind::Timer, 0),
        );
    }
    t.death(missing, 12 * MS);
    for (coroutine, number) in wants.into_iter().zip([1, 2]) {
        self::wants(&mut t, &sites, 20 * MS + number, coroutine, number);
    }
    for coroutine in wants.into_iter().chain([heir, holder]) {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}

/// A line of 20, of which each waits for the end of the next one, and the last for a lock that three
/// hold.
pub fn line() -> Vec<u8> {
    let mut t = Trace::of("./line");
    let sites = sites(&mut t);
    t.thread_event(2 * MS, 4126, Act::Begin);
    t.thread_event(2 * MS, 4127, Act::Begin);
    let line: Vec<Coroutine> = (0..20).map(|_| born(&mut t, &sites, "next")).collect();
    let readers: Vec<Coroutine> = (0..3).map(|_| born(&mut t, &sites, "reader")).collect();
    for coroutine in &readers {
        hold(&mut t, 10 * MS, *coroutine, 1, sites.take);
        t.suspend(
            *coroutine,
            11 * MS,
            4127,
            wait(sites.read, WaitKind::Timer, 0),
        );
    }
    for two in line.windows(2) {
        joins(&mut t, &sites, 20 * MS, two[0], two[1]);
    }
    wants(&mut t, &sites, 21 * MS, line[19], 1);
    for coroutine in line.into_iter().chain(readers) {
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}
