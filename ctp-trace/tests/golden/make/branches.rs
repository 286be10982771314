//! A trace with waits for several leaf futures.

use ctp_trace::record::*;

use super::written;

/// A coroutine waits for two branches, then for one of them again, and then for one alone.
pub(super) fn branches() -> Vec<u8> {
    let mut records = vec![Record::Process(Process {
        id: ProcessId(1),
        pid: 700,
        ..Process::default()
    })];
    records.extend((1..=3).map(site));
    records.extend([chain(1, 0x5555_5555_5010), chain(2, 0x5555_5555_5020)]);
    records.push(Record::Branches(Branches {
        site: SiteId(3),
        sites: vec![SiteId(2), SiteId(1)],
    }));
    records.push(Record::Birth(Birth {
        coroutine: CoroutineId(1),
        process: ProcessId(1),
        name: "app::serve".into(),
        ..Birth::default()
    }));
    records.extend([suspend(1, 3, 0), suspend(2, 3, 0b10), suspend(3, 1, 0)]);
    written(&Start::default(), &records, &End::default())
}

/// A coroutine waits for two branches, and then for copies of them that the compiler has made.
pub(super) fn copies() -> Vec<u8> {
    let mut records = vec![Record::Process(Process {
        id: ProcessId(1),
        pid: 700,
        ..Process::default()
    })];
    records.extend((1..=6).map(site));
    records.extend((1..=4).map(|id| chain(id, 0x5555_5555_5000 + 16 * u64::from(id))));
    for (set, [last, other]) in [(5, [2, 1]), (6, [3, 4])] {
        records.push(Record::Branches(Branches {
            site: SiteId(set),
            sites: vec![SiteId(last), SiteId(other)],
        }));
    }
    for (site, same_as) in [(1, 1), (2, 2), (3, 1), (4, 2)] {
        records.push(Record::Leaf(Leaf {
            site: SiteId(site),
            kind: [LeafKind::Timer, LeafKind::Io][same_as as usize - 1],
            same_as: SiteId(same_as),
        }));
    }
    records.push(Record::Birth(Birth {
        coroutine: CoroutineId(1),
        process: ProcessId(1),
        name: "app::serve".into(),
        ..Birth::default()
    }));
    records.extend([suspend(1, 5, 0), suspend(2, 6, 0b01 << 8)]);
    written(&Start::default(), &records, &End::default())
}

fn site(id: u32) -> Record {
    Record::Site(Site {
        id: SiteId(id),
        process: ProcessId(1),
        place: Place::Function {
            address: 0x5555_5555_4000,
            name: "app::serve".into(),
        },
    })
}

fn chain(id: u32, leaf: u64) -> Record {
    Record::Chain(Chain {
        site: SiteId(id),
        is_whole: true,
        addresses: vec![0x5555_5555_9000, leaf, 0x5555_5555_4020],
    })
}

fn suspend(n: u64, site: u32, stayed: u64) -> Record {
    Record::Event(Event {
        coroutine: CoroutineId(1),
        n,
        at: Nanos(10 * n),
        tid: 700,
        kind: EventKind::Suspend,
        site: SiteId(site),
        arg: stayed,
        ..Event::default()
    })
}
