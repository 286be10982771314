//! Where programs connect: the directory with the sockets, the peers' credentials, and requests in vain.

pub mod alarms;
pub mod credentials;
pub mod leftovers;
pub mod rendezvous;
pub mod turned_away;
