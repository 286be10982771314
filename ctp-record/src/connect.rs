//! Where programs connect: the directory with the sockets, who may connect, and what asks in vain.

pub mod alarms;
pub mod credentials;
pub mod leftovers;
pub mod rendezvous;
pub mod turned_away;
