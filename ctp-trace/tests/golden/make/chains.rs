//! Golden traces of await chains.

use ctp_trace::record::*;

use super::written;

/// Waits with a complete chain, with a cut chain, and without a chain.
pub(super) fn chains() -> Vec<u8> {
    let site = |id| {
        Record::Site(Site {
            id: SiteId(id),
            process: ProcessId(1),
            place: Place::Function {
                address: 0x5555_5555_4000,
                name: "app::serve".into(),
            },
        })
    };
    let chain = |id, is_whole, addresses: &[u64]| {
        Record::Chain(Chain {
            site: SiteId(id),
            is_whole,
            addresses: addresses.to_vec(),
        })
    };
    let suspend = |n, site| {
        Record::Event(Event {
            coroutine: CoroutineId(1),
            n,
            at: Nanos(10 * n),
            tid: 700,
            kind: EventKind::Suspend,
            site: SiteId(site),
            ..Event::default()
        })
    };
    let records = [
        Record::Process(Process {
            id: ProcessId(1),
            pid: 700,
            ..Process::default()
        }),
        site(1),
        site(2),
        chain(
            2,
            true,
            &[0x5555_5555_9000, 0x5555_5555_5010, 0x5555_5555_4020],
        ),
        site(3),
        chain(3, false, &[0x5555_5555_9000, 0x7FFF_FFFF_F000, u64::MAX, 0]),
        Record::Birth(Birth {
            coroutine: CoroutineId(1),
            process: ProcessId(1),
            name: "app::serve".into(),
            ..Birth::default()
        }),
        suspend(1, 2),
        suspend(2, 3),
        suspend(3, 1),
    ];
    written(&Start::default(), &records, &End::default())
}

/// The same, recorded with a chain for each wait.
pub(super) fn precise_chains() -> Vec<u8> {
    let start = Start {
        precise_chains: true,
        ..Start::default()
    };
    written(&start, &[], &End::default())
}
