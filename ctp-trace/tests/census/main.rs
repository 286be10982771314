//! What is counted of a stream of records.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod breaches;
mod control;
mod deeds;
#[path = "../facts/mod.rs"]
mod facts;
mod properties;
mod spans;

use ctp_trace::Census;
use ctp_trace::census::SiteStats;
use ctp_trace::record::*;
use facts::READ;

const SECOND: Nanos = Nanos(1_000_000_000);

fn birth(id: u32) -> Record {
    let coroutine = CoroutineId(id);
    Record::Birth(Birth {
        coroutine,
        name: format!("c{}", id % 2),
        ..Birth::default()
    })
}

fn wake(id: u32, count: u32, at: u64) -> Record {
    Record::Wake(Wake {
        coroutine: CoroutineId(id),
        count,
        at: Nanos(at),
        ..Wake::default()
    })
}

fn read_site(census: &Census) -> SiteStats {
    census
        .sites()
        .into_iter()
        .find(|site| site.site == READ)
        .unwrap()
}

fn deed(at: u64, act: Act) -> Record {
    Record::Deed(Deed {
        at: Nanos(at),
        tid: 7,
        act,
        ..Deed::default()
    })
}
