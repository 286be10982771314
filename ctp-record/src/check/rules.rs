//! The rules of the protocol, one small pure function each over what was seen.

use ctp_nostd::dialect::Dialect;
use ctp_nostd::intern;
use ctp_nostd::layout::{Interned, SLOTS};

use super::look::Look;
use super::world::World;

/// What a rule says of what was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The program never did what the rule is about.
    NotSeen,
    /// It did, and rightly.
    Kept,
    /// It did not, and this proves it.
    Broken(String),
}

use Judged::{Broken, Kept, NotSeen};

/// Two looks at one station, the later one with what goes with it.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'p> {
    /// The look before.
    pub before: Option<&'p Look>,
    /// This one.
    pub now: &'p Look,
    /// When the program was started, CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// Rows of the table of attached processes.
    pub attached: usize,
    /// The table of sites.
    pub sites: &'p [Interned],
}

/// What a rule looks at.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// Two looks at a station.
    Station(fn(&Pair<'_>) -> Judged),
    /// All that was seen, at the end.
    World(fn(&World) -> Judged),
}

/// A rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Short, for the line.
    pub name: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// Who judges.
    pub scope: Scope,
}

const fn station(name: &'static str, judge: fn(&Pair<'_>) -> Judged, advice: &'static str) -> Rule {
    let scope = Scope::Station(judge);
    Rule {
        name,
        advice,
        scope,
    }
}

const fn world(name: &'static str, judge: fn(&World) -> Judged, advice: &'static str) -> Rule {
    let scope = Scope::World(judge);
    Rule {
        name,
        advice,
        scope,
    }
}

/// All of them, in the order of a coroutine's life.
pub const RULES: &[Rule] = &[
    world(
        "attached",
        attached,
        "map CTP_SHM_PATH and claim a station for each coroutine",
    ),
    world(
        "count",
        count,
        "claim by compare-and-swap while the count is below the maximum",
    ),
    world(
        "connected",
        connected,
        "connect to CTP_SOCK_PATH when attaching",
    ),
    world(
        "close-on-exec",
        close_on_exec,
        "open with O_CLOEXEC and SOCK_CLOEXEC",
    ),
    station("id", id, "store probe_id, not 0, before the first event"),
    world(
        "unique ids",
        unique,
        "make ids of process id and a counter, not of an address",
    ),
    station(
        "dialect",
        dialect,
        "number by slot: 2 (n div 8) + 2 in slot n mod 8, odd while writing",
    ),
    station(
        "no way back",
        forward,
        "compute seq from the index of the event, never from memory",
    ),
    station(
        "no gap",
        no_gap,
        "event n goes to slot n mod 8, and n grows by one",
    ),
    station(
        "even at last",
        even,
        "store the even seq with release after the payload",
    ),
    station(
        "one writer",
        one_writer,
        "let one thread at a time write to a station",
    ),
    station("clock", clock, "take CLOCK_MONOTONIC, in nanoseconds"),
    station(
        "time order",
        time_order,
        "never let an event be earlier than the one before",
    ),
    station("thread id", thread, "take gettid(), not pthread_self()"),
    world(
        "one process",
        one_process,
        "after a fork, let the child leave its parent's stations alone",
    ),
    station(
        "is_active",
        is_active,
        "write 0 for a suspend, 1 for all else",
    ),
    station(
        "is_dead",
        is_dead,
        "store 1 with release after the last event, and write no more",
    ),
    station(
        "free bytes",
        free_bytes,
        "leave the free bytes zero, without the extension",
    ),
    station(
        "extension",
        extension,
        "keep generation even, base_n <= event_head, and name an attached owner",
    ),
    station(
        "sites",
        sites,
        "store the id of a site only after interning it",
    ),
    world(
        "rings",
        rings,
        "after each event: full fence, load the flag, swap 1 for 0, send a byte",
    ),
    world(
        "bell swallowed",
        swallowed,
        "whoever swaps the flag sends a byte",
    ),
    world(
        "rung without need",
        needless,
        "send a byte only after having swapped the flag from 1 to 0",
    ),
];

fn attached(world: &World) -> Judged {
    match world.stations {
        0 => NotSeen,
        _ => Kept,
    }
}

fn count(world: &World) -> Judged {
    match world.most_claimed {
        most if most < world.max => NotSeen,
        most if most > world.max => Broken(format!(
            "allocated_count was {most}, of {} stations",
            world.max
        )),
        _ => Kept,
    }
}

fn connected(world: &World) -> Judged {
    match (world.stations, world.connected) {
        (0, _) => NotSeen,
        (_, 0) => Broken("no process connected to the socket".to_owned()),
        _ => Kept,
    }
}

fn close_on_exec(world: &World) -> Judged {
    match (&world.inheritable, world.descriptors) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0) => NotSeen,
        _ => Kept,
    }
}

fn id(pair: &Pair<'_>) -> Judged {
    match (pair.now.dialect, pair.now.raw.probe_id) {
        (None, _) => NotSeen,
        (_, 0) => Broken("it has events and probe_id 0".to_owned()),
        _ => Kept,
    }
}

fn unique(world: &World) -> Judged {
    match (&world.twice, world.stations) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0 | 1) => NotSeen,
        _ => Kept,
    }
}

fn dialect(pair: &Pair<'_>) -> Judged {
    match pair.now.dialect {
        None => NotSeen,
        Some(Dialect::PerSlot) => Kept,
        Some(Dialect::PerStation) => Broken(format!(
            "D1, one sequence for the station, whose events nobody can tell from torn ones: {:?}",
            pair.now.seqs
        )),
    }
}

fn forward(pair: &Pair<'_>) -> Judged {
    let Some(before) = pair.before else {
        return NotSeen;
    };
    let mut changes = (0..SLOTS).map(|slot| (slot, before.seqs[slot], pair.now.seqs[slot]));
    match changes.find(|(_, was, is)| is < was) {
        Some((slot, was, is)) => Broken(format!("slot {slot}: seq was {was}, then {is}")),
        None if before.seqs == pair.now.seqs => NotSeen,
        None => Kept,
    }
}

/// At one instant the slots hold the newest event and the seven before it.
fn no_gap(pair: &Pair<'_>) -> Judged {
    let Some(newest) = pair.now.newest().filter(|_| pair.now.still) else {
        return NotSeen;
    };
    let step = match pair.now.dialect {
        Some(Dialect::PerStation) => 1,
        _ => 0,
    };
    for back in 0..(SLOTS as u64).min(newest.saturating_add(1)) {
        let n = newest - back;
        let slot = ((n + step) % SLOTS as u64) as usize;
        if pair.now.event_in(slot) != Some(n) {
            let seq = pair.now.seqs[slot];
            return Broken(format!(
                "event {newest} is there, but slot {slot} has seq {seq}, not event {n}"
            ));
        }
    }
    Kept
}

/// A slot that is still odd although a later event was there a look ago.
fn even(pair: &Pair<'_>) -> Judged {
    let is_numbered = pair.now.dialect == Some(Dialect::PerSlot);
    let Some(newest) = pair.before.and_then(Look::newest).filter(|_| is_numbered) else {
        return NotSeen;
    };
    let mut slots = 0..SLOTS;
    let left = slots.find(|&slot| {
        pair.now.seqs[slot] % 2 == 1 && pair.now.event_in(slot).is_some_and(|n| n < newest)
    });
    left.map_or(Kept, |slot| {
        let seq = pair.now.seqs[slot];
        Broken(format!(
            "slot {slot}: seq {seq} is odd, and event {newest} came later"
        ))
    })
}

fn one_writer(pair: &Pair<'_>) -> Judged {
    if !pair.now.still || pair.now.dialect != Some(Dialect::PerSlot) {
        return NotSeen;
    }
    let is_odd = |slot: &usize| pair.now.seqs[*slot] % 2 == 1;
    // A slot that is left odd has a rule of its own: only the two newest events count here.
    let recent = |slot: &usize| {
        let n = pair.now.event_in(*slot);
        n.zip(pair.now.newest())
            .is_some_and(|(n, newest)| n + 1 >= newest)
    };
    let left = pair
        .before
        .is_some_and(|before| before.seqs == pair.now.seqs);
    let odd: Vec<usize> = (0..SLOTS).filter(is_odd).filter(recent).collect();
    match odd.as_slice() {
        [a, b, ..] if !left && even(pair) == Kept => {
            Broken(format!("slots {a} and {b} were written at the same time"))
        }
        _ => Kept,
    }
}

fn clock(pair: &Pair<'_>) -> Judged {
    let times = pair
        .now
        .events
        .iter()
        .map(|(n, epoch)| (*n, epoch.timestamp));
    let range = pair.started_ns..=pair.now.now_ns;
    let mut wrong = times.filter(|(_, at)| !range.contains(at));
    match wrong.next() {
        Some((n, at)) => Broken(format!("event {n} is at {at}, not within {range:?}")),
        None if pair.now.events.is_empty() => NotSeen,
        None if !range.contains(&pair.now.raw.birth_ts) => Broken(format!(
            "birth_ts is {}, not within {range:?}",
            pair.now.raw.birth_ts
        )),
        None => Kept,
    }
}

fn time_order(pair: &Pair<'_>) -> Judged {
    // Where numbers do not tell which event came first, times cannot be compared.
    if no_gap(pair) != Kept {
        return NotSeen;
    }
    let mut neighbours = pair.now.events.windows(2);
    match neighbours.find(|two| two[1].1.timestamp < two[0].1.timestamp) {
        Some([(a, first), (b, second)]) => Broken(format!(
            "event {b} is at {}, event {a} before it at {}",
            second.timestamp, first.timestamp
        )),
        _ if pair.now.events.len() < 2 => NotSeen,
        _ => Kept,
    }
}

/// No kernel gives out larger ids (`PID_MAX_LIMIT`).
const LARGEST_TID: u64 = 1 << 22;

fn thread(pair: &Pair<'_>) -> Judged {
    let mut events = pair.now.events.iter();
    match events.find(|(_, epoch)| !(1..=LARGEST_TID).contains(&epoch.tid)) {
        Some((n, epoch)) => Broken(format!("event {n} has tid {}", epoch.tid)),
        None if pair.now.events.is_empty() => NotSeen,
        None => Kept,
    }
}

fn one_process(world: &World) -> Judged {
    match (&world.shared, world.owners.is_empty()) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, true) => NotSeen,
        _ => Kept,
    }
}

fn is_active(pair: &Pair<'_>) -> Judged {
    let bytes = pair.now.raw.is_active;
    match bytes.iter().position(|byte| *byte > 1) {
        Some(slot) => Broken(format!("slot {slot}: is_active is {}", bytes[slot])),
        None if pair.now.events.is_empty() => NotSeen,
        None => Kept,
    }
}

fn is_dead(pair: &Pair<'_>) -> Judged {
    let occupant = |look: &Look| (look.raw.probe_id, look.raw.generation);
    let before = pair
        .before
        .filter(|before| occupant(before) == occupant(pair.now));
    match (pair.now.raw.is_dead, before) {
        (dead @ 2.., _) => Broken(format!("is_dead is {dead}")),
        // The look before may have copied the numbers before the death came.
        (_, Some(before)) if before.raw.is_dead == 1 && before.still => {
            match before.seqs == pair.now.seqs {
                true => Kept,
                false => Broken("it had events after its death".to_owned()),
            }
        }
        (0, _) => NotSeen,
        _ => Kept,
    }
}

fn free_bytes(pair: &Pair<'_>) -> Judged {
    match pair.now.used {
        _ if pair.now.extended() || pair.now.dialect.is_none() => NotSeen,
        Some((word, Some(slot), value)) => Broken(format!("slot {slot}: {word} is {value:#x}")),
        Some((word, None, value)) => Broken(format!("{word} is {value:#x}")),
        None => Kept,
    }
}

fn extension(pair: &Pair<'_>) -> Judged {
    let still = pair.now.still && pair.now.extended();
    let Some(identity) = pair.now.identity.as_ref().filter(|_| still) else {
        return NotSeen;
    };
    let uses = (identity.generation / 2) & 0xFFF;
    match identity {
        _ if identity.base_n > pair.now.head => Broken(format!(
            "base_n {} is beyond event_head {}",
            identity.base_n, pair.now.head
        )),
        _ if identity.owner == 0 || identity.owner as usize > pair.attached => Broken(format!(
            "owner {} is no row of the {} attached processes",
            identity.owner, pair.attached
        )),
        _ if identity.kind > 4 => Broken(format!("kind is {}", identity.kind)),
        _ if pair.now.raw.wake_use != uses => Broken(format!(
            "the wake word is of use {}, the station in use {uses}",
            pair.now.raw.wake_use
        )),
        _ => Kept,
    }
}

/// The bit of a site that is an id, not an address.
const INTERNED: u64 = 1 << 63;

fn sites(pair: &Pair<'_>) -> Judged {
    let ids = pair.now.events.iter().filter(|_| pair.now.extended());
    let mut judged = NotSeen;
    for (n, epoch) in ids.filter(|(_, epoch)| epoch.site & INTERNED != 0) {
        let id = epoch.site & !INTERNED;
        judged = Kept;
        if id != 0 && id as usize > pair.sites.len() {
            let room = pair.sites.len();
            return Broken(format!(
                "event {n} has site {id}, the table has {room} entries"
            ));
        }
        // Another thread may still fill it in: only after the next look is it late.
        let was_there = pair
            .before
            .is_some_and(|look| look.events.iter().any(|e| e.0 == *n));
        if was_there && id != 0 && intern::lookup(pair.sites, id as u32).is_none() {
            return Broken(format!(
                "event {n} has site {id}, which nobody has filled in"
            ));
        }
    }
    judged
}

fn rings(world: &World) -> Judged {
    match (&world.unrung, world.taken) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0) => NotSeen,
        _ => Kept,
    }
}

fn swallowed(world: &World) -> Judged {
    let forgiven = u64::from(world.killed);
    match (world.taken, world.bytes) {
        (0, _) => NotSeen,
        (taken, bytes) if taken > bytes + forgiven => Broken(format!(
            "the flag was taken {taken} times, {bytes} bytes came"
        )),
        _ => Kept,
    }
}

fn needless(world: &World) -> Judged {
    match (world.taken, world.bytes) {
        (taken, bytes) if bytes > taken => Broken(format!(
            "{bytes} bytes came, the flag was taken {taken} times"
        )),
        (0, _) => NotSeen,
        _ => Kept,
    }
}
