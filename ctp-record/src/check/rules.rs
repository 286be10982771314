//! The rules of the protocol. Each is a small pure function of the observations.

mod identity;
mod numbers;
mod payload;
mod program;

use ctp_nostd::Region;

use super::station_reading::StationReading;
use super::world::World;
use program::proven;

/// The verdict of a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RuleVerdict {
    /// The program never did what the rule is about.
    #[default]
    NotSeen,
    /// The program kept the rule.
    Kept,
    /// The program broke the rule; with proof.
    Broken(String),
}

/// Two consecutive readings of a station, with their context.
#[derive(Clone, Copy, Debug)]
pub struct ReadingPair<'p> {
    /// The earlier reading.
    pub before: Option<&'p StationReading>,
    /// The later reading.
    pub now: &'p StationReading,
    /// The numbers of the station decreased once: faults that follow from this are not reported separately.
    pub is_jumbled: bool,
    /// CLOCK_MONOTONIC at the start of the program.
    pub started_ns: u64,
    /// The nanoseconds by which CLOCK_MONOTONIC of the program is ahead of the recorder's.
    pub ahead_ns: i64,
    /// Rows of the table of attached processes.
    pub attached: usize,
    /// The memory with the tables of sites, chains and names.
    pub region: Region<'p>,
}

impl ReadingPair<'_> {
    /// Whether numbers have decreased.
    pub fn went_back(&self) -> bool {
        matches!(numbers::forward(self), RuleVerdict::Broken(_))
    }
}

/// The function that judges, by its input.
#[derive(Clone, Copy, Debug)]
pub enum RuleFunction {
    /// Two readings of a station.
    Station(fn(&ReadingPair<'_>) -> RuleVerdict),
    /// All observations, at the end.
    World(fn(&World) -> RuleVerdict),
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct ProtocolRule {
    /// The short name to print.
    pub name: &'static str,
    /// How to fix a violation.
    pub advice: &'static str,
    /// The function that judges.
    pub function: RuleFunction,
}

const fn rule(name: &'static str, function: RuleFunction, advice: &'static str) -> ProtocolRule {
    ProtocolRule {
        name,
        advice,
        function,
    }
}

/// All rules, in the order of a coroutine's life.
pub const RULES: &[ProtocolRule] = &[
    rule(
        "attached",
        RuleFunction::World(program::attached),
        "see that CTP_SHM_PATH reaches the program (sudo and others clean the environment), that \
         it attaches before its first coroutine, that opening (as another user: --inherit-fd), magic \
         and version did not make it give up, and that it claims a station for each coroutine",
    ),
    rule(
        "count",
        RuleFunction::World(program::count),
        "claim by compare-and-swap while the count is below the maximum",
    ),
    rule(
        "connected",
        RuleFunction::World(program::connected),
        "connect to CTP_SOCK_PATH when attaching",
    ),
    rule(
        "close-on-exec",
        RuleFunction::World(|world| proven(&world.inheritable, world.descriptors > 0)),
        "open with O_CLOEXEC and SOCK_CLOEXEC",
    ),
    rule(
        "id",
        RuleFunction::Station(identity::probe_id),
        "store probe_id, not 0, before the first event",
    ),
    rule(
        "unique ids",
        RuleFunction::World(|world| proven(&world.twice, world.stations > 1)),
        "make ids of process id and a counter, not of an address",
    ),
    rule(
        "dialect",
        RuleFunction::Station(numbers::dialect),
        "number by slot: 2 (n div 8) + 2 in slot n mod 8, odd while writing",
    ),
    rule(
        "numbers never fall",
        RuleFunction::Station(numbers::forward),
        "compute seq from the index of the event, never from memory",
    ),
    rule(
        "no gap",
        RuleFunction::Station(numbers::no_gap),
        "event n goes to slot n mod 8, and n grows by one",
    ),
    rule(
        "even when complete",
        RuleFunction::Station(numbers::even),
        "store the even seq with release after the payload",
    ),
    rule(
        "finished",
        RuleFunction::World(|world| world.unfinished.events.clone()),
        "end each event that was begun: nothing may throw, return or jump between the odd seq and \
         the even one",
    ),
    rule(
        "one writer",
        RuleFunction::Station(numbers::single_writer),
        "let one thread at a time write to a station",
    ),
    rule(
        "clock",
        RuleFunction::Station(payload::clock),
        "take CLOCK_MONOTONIC, in nanoseconds",
    ),
    rule(
        "time order",
        RuleFunction::Station(payload::time_order),
        "never let an event be earlier than the one before",
    ),
    rule(
        "thread id",
        RuleFunction::Station(payload::thread),
        "take gettid(), not pthread_self()",
    ),
    rule(
        "own thread",
        RuleFunction::World(|world| proven(&world.threads.stranger, world.threads.are_known())),
        "take gettid() of the thread that writes, and again in a fork",
    ),
    rule(
        "one process",
        RuleFunction::World(|world| proven(&world.threads.shared, world.threads.are_known())),
        "after a fork, let the child leave its parent's stations alone",
    ),
    rule(
        "is_active",
        RuleFunction::Station(payload::is_active),
        "write 0 for a suspend, 1 for all else",
    ),
    rule(
        "is_dead",
        RuleFunction::Station(identity::death),
        "store 1 with release after the last event, and write no more",
    ),
    rule(
        "free bytes",
        RuleFunction::Station(identity::free_bytes),
        "leave the free bytes zero, without the extension",
    ),
    rule(
        "extension",
        RuleFunction::Station(identity::extension),
        "keep base_n <= event_head, the use of the station in the wake word, an attached owner, and \
         a kind from 0 to 4",
    ),
    rule(
        "generation",
        RuleFunction::World(|world| world.unfinished.identities.clone()),
        "make generation even once the words of line 0 are there, before the first event",
    ),
    rule(
        "event kind",
        RuleFunction::Station(payload::kind),
        "store the station's generation and a kind from 1 on in each event",
    ),
    rule(
        "event head",
        RuleFunction::Station(numbers::head),
        "store n + 1 in event_head with release after each event n, before is_dead",
    ),
    rule(
        "sites",
        RuleFunction::Station(identity::sites),
        "store the id of a site, bit 63 set, only once its entry has a key",
    ),
    rule(
        "names",
        RuleFunction::Station(identity::names),
        "store the id of a name only once its entry has a key",
    ),
    rule(
        "entries",
        RuleFunction::World(|world| world.unfinished.entries.clone()),
        "store 1 in ready, with release, once the content of an entry is there",
    ),
    rule(
        "rings",
        RuleFunction::World(program::rings),
        "after each event: full fence, load the flag, swap 1 for 0, send a byte",
    ),
    rule(
        "ring bytes sent",
        RuleFunction::World(program::swallowed),
        "send a byte after each swap of the flag from 1 to 0",
    ),
    rule(
        "no needless rings",
        RuleFunction::World(program::needless),
        "send a byte only after having swapped the flag from 1 to 0",
    ),
];
