//! Strategies for records that define a coroutine or a place.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use ctp_trace::record::*;

use super::{any_u32, any_u64, bytes, text};

pub fn definition() -> impl Strategy<Value = Record> {
    prop_oneof![process(), module(), site(), chain(), branches(), birth()]
}

fn process() -> impl Strategy<Value = Record> {
    (any_u32(), any_u32(), any_u64()).prop_map(|(id, pid, attached)| {
        Record::Process(Process {
            id: ProcessId(id),
            pid,
            attached: Nanos(attached),
        })
    })
}

fn chain() -> impl Strategy<Value = Record> {
    let addresses = vec(any_u64(), 0..30);
    (any_u32(), any::<bool>(), addresses).prop_map(|(site, is_whole, addresses)| {
        Record::Chain(Chain {
            site: SiteId(site),
            is_whole,
            addresses,
        })
    })
}

fn branches() -> impl Strategy<Value = Record> {
    (any_u32(), vec(any_u32(), 0..10)).prop_map(|(site, sites)| {
        Record::Branches(Branches {
            site: SiteId(site),
            sites: sites.into_iter().map(SiteId).collect(),
        })
    })
}

fn module() -> impl Strategy<Value = Record> {
    (any_u32(), any_u64(), any_u64(), any_u64(), bytes(), bytes()).prop_map(
        |(process, start, end, file_offset, path, build_id)| {
            let process = ProcessId(process);
            Record::Module(Module {
                process,
                start,
                end,
                file_offset,
                path,
                build_id,
            })
        },
    )
}

fn site() -> impl Strategy<Value = Record> {
    (any_u32(), any_u32(), place()).prop_map(|(id, process, place)| {
        Record::Site(Site {
            id: SiteId(id),
            process: ProcessId(process),
            place,
        })
    })
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        (text(), any_u32(), any_u32()).prop_map(|(file, line, column)| Place::Source {
            file,
            line,
            column
        }),
        (any_u64(), text()).prop_map(|(address, name)| Place::Function { address, name }),
        any_u64().prop_map(Place::Address),
        any_u64().prop_map(Place::ReturnAddress),
    ]
}

fn birth() -> impl Strategy<Value = Record> {
    let dialects = vec![Dialect::Extended, Dialect::V1PerSlot, Dialect::V1PerStation];
    let kinds = vec![
        CoroutineKind::Unknown,
        CoroutineKind::Future,
        CoroutineKind::Stackful,
        CoroutineKind::Thread,
        CoroutineKind::Bare,
    ];
    let numbers = (any_u32(), any_u32(), any_u32(), any_u32(), any_u32());
    let rest = (
        any_u64(),
        any_u64(),
        select(dialects),
        select(kinds),
        text(),
    );
    (numbers, rest).prop_map(
        |(
            (coroutine, process, station, generation, spawn),
            (probe_id, at, dialect, kind, name),
        )| {
            Record::Birth(Birth {
                coroutine: CoroutineId(coroutine),
                process: ProcessId(process),
                station,
                generation,
                probe_id,
                at: Nanos(at),
                dialect,
                kind,
                name,
                spawn_site: SiteId(spawn),
                lived_before: spawn % 2 == 1,
            })
        },
    )
}
