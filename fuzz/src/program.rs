//! A scripted program with coroutines in the memory, and hostile writes into the memory.

use ctp_nostd::chain::{self, Chain};
use ctp_nostd::site::SiteWord;
use ctp_nostd::slot::{self, Epoch, SlotReading};
use ctp_nostd::{Coroutine, Probe, Region, Wait};

use crate::memory::Room;
use crate::script::Script;
use crate::stage::{self, Stage};

/// The number of kinds of steps for the oldest inputs, so that they keep their meaning.
pub const FIRST_STEPS: u8 = 12;
pub const ALL_STEPS: u8 = 18;

/// A step for the recorder.
pub enum MemoryRequest {
    Pass,
    /// Checks the memory again, as before the first pass.
    CheckRegion,
}

pub struct Program {
    region: Region<'static>,
    room: Room,
    probe: Probe<Stage>,
    coroutines: Vec<Coroutine<Stage>>,
    /// The number of kinds of steps.
    steps: u8,
}

impl Program {
    pub fn new(region: Region<'static>, room: Room, steps: u8) -> Self {
        Program {
            region,
            room,
            probe: Probe::new(region, 1),
            coroutines: Vec::new(),
            steps,
        }
    }

    pub fn step(&mut self, script: &mut Script<'_>) -> Option<MemoryRequest> {
        match script.byte() % self.steps {
            0 => {
                let at = script.half();
                self.room.put_word(at, script.word());
            }
            1 | 2 => {
                let at = script.half();
                self.room.put_word(at, script.edge());
            }
            3 => {
                let at = script.half();
                self.room.put_byte(at.into(), script.byte());
            }
            4 => self.put_many(script),
            5 => self.coroutines.push(self.probe.born("fuzzed")),
            6 => self.with(script.byte(), Coroutine::run),
            7 => self.with(script.byte(), |task| task.suspend(Wait::unknown())),
            8 => self.with(script.byte(), |task| task.waker().wake()),
            9 => drop(self.coroutines.pop()),
            10 => return Some(MemoryRequest::Pass),
            11 => return Some(MemoryRequest::CheckRegion),
            12 => stage::enter(script.byte()),
            13 => self.wait_in_a_chain(script),
            14 => self.probe.acquired(lock(script)),
            15 => self.probe.released(lock(script)),
            16 => self.cycles(script),
            _ => self.probe.closed(lock(script)),
        }
        None
    }

    fn with(&self, which: u8, act: impl FnOnce(&Coroutine<Stage>)) {
        if let Some(coroutine) = self.coroutines.get(usize::from(which)) {
            act(coroutine);
        }
    }

    fn put_many(&self, script: &mut Script<'_>) {
        let (at, length) = (usize::from(script.half()), usize::from(script.byte()));
        for (offset, byte) in script.bytes(length).iter().enumerate() {
            self.room.put_byte(at + offset, *byte);
        }
    }

    /// Many runs and suspends, enough to fill a lane.
    fn cycles(&self, script: &mut Script<'_>) {
        let (which, count) = (script.byte(), script.byte());
        self.with(which, |task| {
            for lock in 0..usize::from(count) {
                task.run();
                task.suspend(Wait::lock(lock));
            }
        });
    }

    /// Rewrites the latest event of a coroutine as a wait with an await chain.
    fn wait_in_a_chain(&self, script: &mut Script<'_>) {
        let (which, site, count) = (script.byte(), script.byte(), script.byte() % 32);
        let addresses = (0..count).map(|_| script.edge()).take(chain::MAX_ADDRESSES);
        let chain = Chain {
            site: site.into(),
            is_whole: site % 2 == 0,
            addresses: addresses.collect(),
        };
        let id = chain::intern(self.region.chains, 1, &chain);
        let Some(station) = self.region.stations.get(usize::from(which)) else {
            return;
        };
        let n = station.event_head();
        let slot = station.slot_of(n);
        if let SlotReading::Whole(_, epoch) = slot::read(slot) {
            let site = SiteWord::from_id(self.region.site_of_chain(id)).0;
            slot::publish(slot, n, &Epoch { site, ..epoch });
        }
    }
}

/// The address of a lock, out of a few.
fn lock(script: &mut Script<'_>) -> usize {
    usize::from(script.byte() % 4)
}
