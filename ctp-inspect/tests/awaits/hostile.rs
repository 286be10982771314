//! Damaged memory and damaged debug info yield fewer facts, and neither a panic nor an endless search.

use std::fs;

use ctp_inspect::awaits::{AwaitReader, StoredTask, TaskAwaits, TaskFuture};
use ctp_inspect::target::error::TargetError;
use ctp_inspect::threads::ThreadSample;
use ctp_inspect::{EpollInterest, Mapping, ProcessTarget, StackPointer, Target};
use ctp_trace::record::Nanos;
use object::{Object, ObjectSection};
use proptest::prelude::*;
use symbolize::SearchPaths;

use crate::program::{Program, build};

/// A process, some words of which are read as others.
struct Damaged {
    process: ProcessTarget,
    mappings: Vec<Mapping>,
    seed: u64,
    /// Of so many words, about one is damaged; none if 0.
    interval: u64,
    /// Addresses that damaged words may have.
    addresses: Vec<u64>,
}

impl Damaged {
    fn of(process: &Program, seed: u64, interval: u64) -> Self {
        let target = ProcessTarget::open(process.process.id()).unwrap();
        Self {
            mappings: target.mappings().to_vec(),
            process: target,
            seed,
            interval,
            addresses: process.headers.values().copied().collect(),
        }
    }

    /// What is read instead of the word at an address.
    fn damage(&self, address: u64) -> Option<u64> {
        let random = (address ^ self.seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(31);
        if self.interval == 0 || !random.is_multiple_of(self.interval) {
            return None;
        }
        let header = self.addresses[random as usize / 64 % self.addresses.len()];
        let words = [
            0,
            random,
            header + random % 512,
            address,
            address + 8,
            random % 8,
        ];
        Some(words[(random >> 40) as usize % words.len()])
    }
}

impl Target for Damaged {
    fn pid(&self) -> u32 {
        self.process.pid()
    }

    fn exe(&self) -> &[u8] {
        self.process.exe()
    }

    fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let read = self.process.read(address, buffer);
        for (at, byte) in (address..).zip(&mut buffer[..read]) {
            if let Some(word) = self.damage(at & !7) {
                *byte = word.to_le_bytes()[(at & 7) as usize];
            }
        }
        read
    }

    fn now(&self) -> Nanos {
        self.process.now()
    }

    fn refresh(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    fn stack_pointers(&self) -> Vec<StackPointer> {
        Vec::new()
    }

    fn epoll_interests(&self) -> Vec<EpollInterest> {
        self.process.epoll_interests()
    }

    fn thread_ids(&self) -> Vec<u32> {
        Vec::new()
    }

    fn thread(&self, _: u32) -> Option<ThreadSample> {
        None
    }
}

/// The functions that poll the tasks, from memory that is not damaged.
fn futures(program: &Program) -> Vec<TaskFuture> {
    let target = ProcessTarget::open(program.process.id()).unwrap();
    let headers = program.headers.values();
    headers
        .map(|&header| TaskFuture {
            header,
            poll: target.word(target.word(header + 16).unwrap()).unwrap(),
            memory: StoredTask::Tokio,
        })
        .collect()
}

fn assert_sound(found: &TaskAwaits, header: u64, target: &dyn Target) {
    let wakers = found.wakers.iter().filter_map(|waker| waker.at);
    for waker in wakers {
        assert_eq!(target.word(waker), Some(header), "{found:#?}");
    }
    assert!(found.frames.len() <= 4096);
    let waits = found.waits.iter().map(|wait| wait.frame);
    let holds = found.holds.iter().map(|held| held.frame);
    assert!(
        waits
            .chain(holds)
            .all(|frame| (frame as usize) < found.frames.len())
    );
    let is_nested = |pair: &[_]| {
        let [outer, inner]: &[ctp_trace::record::AwaitFrame; 2] = pair.try_into().unwrap();
        inner.depth <= outer.depth + 1
    };
    assert!(found.frames.windows(2).all(is_nested), "{found:#?}");
}

#[test]
fn damaged_memory_yields_fewer_facts() {
    let program = Program::run(&build(&[], "debug"));
    let awaits = AwaitReader::new(SearchPaths::recorded());
    let futures = futures(&program);
    for seed in 0..200 {
        let target = Damaged::of(&program, seed, 2 + seed % 40);
        awaits.begin(&target);
        for future in &futures {
            let found = awaits.read_task(*future, &target, &|_| None);
            assert_sound(&found, future.header, &target);
        }
    }
}

/// The program with some bytes of its debug info replaced.
fn damaged_copy(original: &[u8], damage: &[(u8, u32, u8)]) -> Vec<u8> {
    let sections = [".debug_info", ".debug_abbrev", ".debug_str", ".debug_line"];
    let object = object::File::parse(original).unwrap();
    let ranges = sections.map(|name| object.section_by_name(name).unwrap().file_range().unwrap());
    let mut copy = original.to_vec();
    for &(section, offset, byte) in damage {
        let (start, length) = ranges[usize::from(section) % ranges.len()];
        copy[(start + u64::from(offset) % length) as usize] = byte;
    }
    copy
}

#[test]
fn damaged_debug_info_yields_fewer_facts() {
    let path = build(&[], "debug");
    let program = Program::run(&path);
    let original = fs::read(&path).unwrap();
    let futures = futures(&program);
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("awaiting");
    let damage = prop::collection::vec(any::<(u8, u32, u8)>(), 1..2000);
    proptest!(ProptestConfig::with_cases(12), |(damage in damage)| {
        fs::write(&copy, damaged_copy(&original, &damage)).unwrap();
        let mut target = Damaged::of(&program, 0, 0);
        for mapping in target.mappings.iter_mut().filter(|mapping| mapping.path.ends_with(b"/awaiting")) {
            mapping.path = copy.to_str().unwrap().into();
        }
        let awaits = AwaitReader::new(SearchPaths::recorded());
        for future in &futures {
            let found = awaits.read_task(*future, &target, &|_| None);
            assert_sound(&found, future.header, &target);
        }
    });
}
