//! Coroutines that spawn others.

use ctp_trace::record::*;

use super::builder::{Coroutine, MS, SECOND, Trace, wait};

const TID: u64 = 4126;
const NET: &str = "vendor/runtime-with-a-long-name/src/net/poll/reactor.rs";

struct Sites {
    accept: SiteId,
    session: SiteId,
    writer: SiteId,
    wait: SiteId,
    hangup: SiteId,
}

/// A listener spawns four connections, of which each spawns a writer; one of those connections has
/// ended, and the writers wait for descriptors that were closed. A walk spawns the next one, twice,
/// and one further name and place are long.
pub fn family() -> Vec<u8> {
    let mut t = Trace::of("./family");
    t.thread_event(MS, TID, Act::Begin);
    let main = t.source("src/main.rs", 9);
    let sites = Sites {
        accept: t.source("src/listen.rs", 7),
        session: t.source("src/listen.rs", 9),
        writer: t.source("src/session.rs", 21),
        wait: t.source("src/session.rs", 25),
        hangup: t.source(NET, 141),
    };
    let listener = t.born("listener", main, MS);
    let connections: Vec<Coroutine> = (1..=4)
        .map(|id| connection(&mut t, &sites, listener, id))
        .collect();
    for id in 1..=4 {
        let at = 200 * MS + id * 20 * MS;
        t.close(at, TID, WaitKind::Readable, 30 + id, sites.hangup);
    }
    walks(&mut t);
    let deep = t.source(
        "a/very/long/way/down/to/the/source/of/all/that/went/wrong/file.rs",
        88,
    );
    let name = "metrics::exporters::prometheus::scrape::<http::server::Connection<tls::Stream>>";
    let other = t.born(name, deep, 900 * MS);
    t.run(other, 901 * MS, TID);
    t.suspend(other, 902 * MS, TID, wait(sites.accept, WaitKind::Timer, 0));
    t.death(connections[1], SECOND);
    t.finish()
}

fn connection(t: &mut Trace, sites: &Sites, listener: Coroutine, id: u64) -> Coroutine {
    let at = id * 20 * MS;
    t.run(listener, at, TID);
    let coroutine = t.born(&format!("conn-{id}"), sites.session, at + MS);
    let accept = wait(sites.accept, WaitKind::Readable, 3);
    t.suspend(listener, at + 2 * MS, TID, accept);
    t.run(coroutine, at + 3 * MS, TID);
    let writer = t.born("writer", sites.writer, at + 4 * MS);
    t.suspend(
        coroutine,
        at + 5 * MS,
        TID,
        wait(sites.accept, WaitKind::Channel, 0x7f00_1234),
    );
    t.run(writer, at + 6 * MS, TID);
    t.suspend(
        writer,
        at + 7 * MS,
        TID,
        wait(sites.wait, WaitKind::Readable, 30 + id),
    );
    coroutine
}

fn walks(t: &mut Trace) {
    let site = t.source("src/walk.rs", 4);
    let mut step = |id: u64| {
        let at = 600 * MS + id * MS;
        let coroutine = t.born(&format!("walk-{id}"), site, at);
        t.run(coroutine, at, TID);
        coroutine
    };
    let steps: Vec<Coroutine> = (0..3).map(&mut step).collect();
    for coroutine in steps.into_iter().rev() {
        t.suspend(coroutine, 650 * MS, TID, wait(site, WaitKind::Timer, 0));
    }
}
