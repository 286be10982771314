//! `--check-probe`: runs a program and reports which rules of the protocol its probe keeps.
//!
//! Observing ([`watch`], with [`station_reading`], [`world`], [`threads`], [`unfinished`], [`doorbell`] and
//! [`process`](crate::proc::process)), judging ([`rules`]) and printing (here) are separate.

mod doorbell;
mod rules;
mod station_reading;
mod threads;
mod unfinished;
mod watch;
mod world;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use ctp_nostd::create::Plan;

use crate::cli::config::Launch;
use crate::cli::print::print;
use crate::connect::rendezvous::Rendezvous;
use crate::error::{Error, StartError};
use crate::launch::Prepared;
use crate::launch::signals::Signals;
use crate::memory::clock::Clock;
use crate::memory::description::recording_of;
use crate::memory::shm::Memory;
use crate::output::start_and_end::start_record;
use crate::session::wait;
use rules::{RULES, RuleVerdict};
use watch::{File, ProtocolWatch};

/// Exit status when a rule is broken.
const BROKEN: u8 = 3;

/// Runs the program to its end and judges its probe. Returns 0 if no rule is broken, else 3.
///
/// # Errors
/// As for a recording.
pub fn check(launch: &Launch) -> Result<u8, Error> {
    let clock = Clock::start();
    let plan = Plan::without_lanes(launch.stations);
    let start = start_record(clock, &launch.command, launch.stations);
    let memory = Memory::create(
        plan,
        &recording_of(&start, wait::can_fence_programs()),
        launch.inherit_fd,
    )
    .map_err(|error| StartError::Memory(plan.bytes(), error))?;
    // Before anything is created that a signal would leave behind.
    let mut signals = Signals::watch(&[]).map_err(Error::Wait)?;
    let rendezvous = Rendezvous::open().map_err(StartError::Socket)?;
    let region = memory.region();
    let prepared = Prepared {
        memory: &memory,
        rendezvous: &rendezvous,
    };
    signals.check_none_ends_wait()?;
    let running = prepared.launch(launch)?;
    let file = file_of(&memory).map_err(|error| StartError::Memory(plan.bytes(), error))?;
    let judged = ProtocolWatch::new(region, &rendezvous, file, clock.monotonic_ns)
        .run_until_end(running, signals)
        .map_err(Error::Wait)?;
    print(&text_of(&judged))?;
    let broken = judged
        .iter()
        .any(|(judged, _)| matches!(judged, RuleVerdict::Broken(_)));
    Ok(if broken { BROKEN } else { 0 })
}

fn file_of(memory: &Memory) -> io::Result<File> {
    let descriptor = memory.path();
    Ok(File {
        path: fs::read_link(&descriptor)?.to_string_lossy().into_owned(),
        inode: fs::metadata(&descriptor)?.ino(),
    })
}

/// A line for each rule, followed by proof and advice if the rule is broken.
fn text_of(judged: &[(RuleVerdict, Option<usize>)]) -> String {
    let mut text = String::new();
    for (rule, (judged, station)) in RULES.iter().zip(judged) {
        let place = station.map_or(String::new(), |index| format!("station {index}: "));
        let name = rule.name;
        let written = match judged {
            RuleVerdict::NotSeen => writeln!(text, "not seen  {name}"),
            RuleVerdict::Kept => writeln!(text, "PASS      {name}"),
            RuleVerdict::Broken(proof) => writeln!(
                text,
                "FAIL      {name}\n            {place}{proof}\n            to do: {}",
                rule.advice
            ),
        };
        written.expect("writing to a string");
    }
    text
}
