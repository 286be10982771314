//! The protocols of the shared memory under every interleaving and every value that a weak
//! memory may show.
//!
//! Each model has a sibling with a name that starts with `without`: a copy of the protocol with one
//! ordering left out, which the checker must refuse. A model that cannot fail proves nothing.
//!
//! Every model is explored with at most two preemptions per execution, unless
//! `LOOM_MAX_PREEMPTIONS` says otherwise. Every weakened copy fails within two preemptions: one
//! side makes a lap inside the critical steps of the other, and back. The values that a load may
//! see are not bounded. With three preemptions, `a_snapshot_is_a_single_event` takes minutes.
#![cfg(loom)]

mod aggregate;
mod clock;
mod control;
mod dialect;
mod doorbell;
mod freeze;
#[cfg(not(ctp_split_words))]
mod holders;
#[cfg(not(ctp_split_words))]
mod holders_nested;
mod intern;
// Lanes and wrapped wakers need atomics of 64 bits.
#[cfg(not(ctp_split_words))]
mod lane;
mod live_wakers;
mod membarrier;
mod slot;
mod standalone;
mod station;
mod suspended_stack;
mod wake;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(2);
    builder.check(model);
}
