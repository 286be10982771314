//! Rules of the program as a whole: its claims, processes, descriptors and rings.

use super::Judged::{self, Broken, Kept, NotSeen};
use crate::check::world::World;

pub(super) fn attached(world: &World) -> Judged {
    match world.stations {
        0 => NotSeen,
        _ => Kept,
    }
}

pub(super) fn count(world: &World) -> Judged {
    match world.most_claimed {
        most if most < world.max => NotSeen,
        most if most > world.max => Broken(format!(
            "allocated_count was {most}, of {} stations",
            world.max
        )),
        _ => Kept,
    }
}

pub(super) fn connected(world: &World) -> Judged {
    match (world.stations, world.connected) {
        (0, _) => NotSeen,
        (_, 0) => Broken("no process connected to the socket".to_owned()),
        _ => Kept,
    }
}

pub(super) fn close_on_exec(world: &World) -> Judged {
    match (&world.inheritable, world.descriptors) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn unique(world: &World) -> Judged {
    match (&world.twice, world.stations) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0 | 1) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn one_process(world: &World) -> Judged {
    match (&world.shared, world.owners.is_empty()) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, true) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn rings(world: &World) -> Judged {
    match (&world.unrung, world.taken) {
        (Some(proof), _) => Broken(proof.clone()),
        (None, 0) => NotSeen,
        _ => Kept,
    }
}

pub(super) fn swallowed(world: &World) -> Judged {
    let forgiven = u64::from(world.killed);
    match (world.taken, world.bytes) {
        (0, _) => NotSeen,
        (taken, bytes) if taken > bytes + forgiven => Broken(format!(
            "the flag was taken {taken} times, {bytes} bytes came"
        )),
        _ => Kept,
    }
}

pub(super) fn needless(world: &World) -> Judged {
    match (world.taken, world.bytes) {
        (taken, bytes) if bytes > taken => Broken(format!(
            "{bytes} bytes came, the flag was taken {taken} times"
        )),
        (0, _) => NotSeen,
        _ => Kept,
    }
}
