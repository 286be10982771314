//! Await chains: each is recorded once, as a site of its own. A chain that makes no sense is no site.

use ctp_nostd::chain::{self, Chain};
use ctp_nostd::intern::{self, Entry};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, SlotReading};
use ctp_nostd::{Coroutine, Probe, Region, Wait};
use ctp_record::harvest::Harvest;
use ctp_trace::record::{Place, Record, SiteId};

use crate::lanes::memory;
use crate::test_memory::{Bare, RecordBuffer, SingleProcess, events_in};

const SERVE: u64 = 0x5000;

/// A chain of two calls, at the site with this id.
fn chain(site: u32, call: u64) -> Chain {
    Chain {
        site,
        is_whole: true,
        addresses: [0x9000, call, SERVE + 4].into_iter().collect(),
    }
}

/// A coroutine that waits at sites chosen by the test.
struct Waiter {
    region: Region<'static>,
    life: Coroutine<Bare>,
    waits: u64,
    harvest: Harvest,
    outside: SingleProcess,
}

impl Waiter {
    fn new() -> Self {
        let region = memory(0);
        Waiter {
            region,
            life: Probe::new(region, 1).born("one"),
            waits: 0,
            harvest: Harvest::new(0),
            outside: SingleProcess::default(),
        }
    }

    /// Waits at the site with this id.
    fn wait_at(&mut self, id: u32) -> Vec<Record> {
        self.life.suspend(Wait::unknown());
        self.waits += 1;
        let slot = self.region.stations[0].slot_of(self.waits);
        let SlotReading::Whole(_, epoch) = slot::read(slot) else {
            unreachable!("nothing writes the slot meanwhile");
        };
        let site = SiteWord::from_id(id).0;
        slot::publish(slot, self.waits, &Epoch { site, ..epoch });
        let mut buffer = RecordBuffer::default();
        self.harvest
            .pass(&self.region, &mut self.outside, &mut buffer);
        buffer.0
    }
}

fn site_of_wait(records: &[Record]) -> SiteId {
    events_in(records).last().expect("it waited").site
}

fn chains(records: &[Record]) -> Vec<(SiteId, bool, Vec<u64>)> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Chain(chain) => Some((chain.site, chain.is_whole, chain.addresses.clone())),
            _ => None,
        })
        .collect()
}

fn functions(records: &[Record]) -> Vec<(SiteId, u64)> {
    records
        .iter()
        .filter_map(|record| match record {
            Record::Site(site) => match site.place {
                Place::Function { address, .. } => Some((site.id, address)),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

// CT-13
#[test]
fn wait_with_a_chain_has_a_site_that_is_recorded_once() {
    let mut waiter = Waiter::new();
    let region = waiter.region;
    let serve = intern::intern(region.sites, 1, &Entry::function(SERVE, "serve"));
    let ids = [0x6000, 0x7000].map(|call| chain::intern(region.chains, 1, &chain(serve, call)));
    let [first, second] = ids.map(|id| region.site_of_chain(id));

    let plain = site_of_wait(&waiter.wait_at(serve));
    let records = waiter.wait_at(first);
    let site = site_of_wait(&records);
    assert_eq!(functions(&records), [(site, SERVE)]);
    let addresses = vec![0x9000, 0x6000, SERVE + 4];
    assert_eq!(chains(&records), [(site, true, addresses)]);

    let again = waiter.wait_at(first);
    assert_eq!((site_of_wait(&again), chains(&again)), (site, Vec::new()));
    let another = site_of_wait(&waiter.wait_at(second));
    assert!(site != plain && another != plain && another != site);
}

// CTP-28
#[test]
fn invalid_chain_is_no_site() {
    let mut waiter = Waiter::new();
    let region = waiter.region;
    let of_site = |site| {
        let id = chain::intern(region.chains, 1, &chain(site, 0x6000));
        region.site_of_chain(id)
    };
    let behind = (region.sites.len() + region.chains.len()) as u32;
    let made_up = [of_site(4000), of_site(u32::MAX), of_site(behind)];
    let absent = [region.site_of_chain(17), behind, behind + 1, u32::MAX];
    for id in [&made_up[..], &[of_site(made_up[0])], &absent].concat() {
        let records = waiter.wait_at(id);
        assert_eq!(site_of_wait(&records), SiteId(0), "{id}");
        assert_eq!(chains(&records), []);
    }
}

// CT-14
#[test]
fn chain_without_a_site_uses_the_caller() {
    let mut waiter = Waiter::new();
    let region = waiter.region;
    let id = chain::intern(region.chains, 1, &chain(0, 0x6000));
    let records = waiter.wait_at(region.site_of_chain(id));
    let site = site_of_wait(&records);
    let is_at_caller = |record: &Record| match record {
        Record::Site(found) => found.id == site && found.place == Place::ReturnAddress(0x6000),
        _ => false,
    };
    assert!(records.iter().any(is_at_caller), "{records:?}");
    assert_eq!(chains(&records).len(), 1);
}
