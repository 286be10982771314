//! Rules about the program as a whole: its claims, processes, descriptors and rings.

use super::RuleVerdict::{self, Broken, Kept, NotSeen};
use crate::check::world::World;

pub(super) fn attached(world: &World) -> RuleVerdict {
    if world.stations == 0 && world.connected == 0 && !world.has_mapped_memory {
        Broken(
            "no station was claimed, no process connected to the socket, and the program was not seen \
             to map the memory"
                .to_owned(),
        )
    } else {
        Kept
    }
}

pub(super) fn count(world: &World) -> RuleVerdict {
    match world.most_claimed {
        most if most < world.max => NotSeen,
        most if most > world.max => Broken(format!(
            "allocated_count was {most}, of {} stations",
            world.max
        )),
        _ => Kept,
    }
}

pub(super) fn connected(world: &World) -> RuleVerdict {
    match (world.stations, world.connected) {
        (0, _) => NotSeen,
        (_, 0) => Broken("no process connected to the socket".to_owned()),
        _ => Kept,
    }
}

/// A program without a connection need not take the flag.
pub(super) fn rings(world: &World) -> RuleVerdict {
    let proof = world
        .doorbell
        .unrung
        .clone()
        .filter(|_| world.connected > 0);
    proven(&proof, world.doorbell.taken > 0)
}

/// [`Broken`] if there is proof, else [`Kept`] if the program did what the rule is about.
pub(super) fn proven(proof: &Option<String>, was_seen: bool) -> RuleVerdict {
    match proof {
        Some(proof) => Broken(proof.clone()),
        None if was_seen => Kept,
        None => NotSeen,
    }
}

pub(super) fn swallowed(world: &World) -> RuleVerdict {
    let forgiven = u64::from(world.was_killed);
    match (world.doorbell.taken, world.doorbell.bytes) {
        (0, _) => NotSeen,
        (taken, bytes) if taken > bytes + forgiven => Broken(format!(
            "the flag was taken {taken} times, {bytes} bytes came"
        )),
        _ => Kept,
    }
}

pub(super) fn needless(world: &World) -> RuleVerdict {
    match (world.doorbell.taken, world.doorbell.bytes) {
        (taken, bytes) if bytes > taken => Broken(format!(
            "{bytes} bytes came, the flag was taken {taken} times"
        )),
        (0, _) => NotSeen,
        _ => Kept,
    }
}
