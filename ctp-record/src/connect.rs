//! Where programs connect: the directory with the sockets, the peers' credentials, and requests that were
//! refused.

pub mod alarms;
pub mod credentials;
pub mod leftovers;
pub mod rendezvous;
pub mod turned_away;
