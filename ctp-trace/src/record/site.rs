//! Sites, and what is known of the code there.

use crate::record::{ProcessId, SiteId};

/// A place where coroutines are spawned or suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Number of the site in this trace.
    pub id: SiteId,
    /// The process that executes this code.
    pub process: ProcessId,
    /// What is known of the site.
    pub place: Place,
}

/// What is known of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Source position that the program recorded itself; needs no debug information.
    Source {
        /// Path as the compiler was given it, often relative.
        file: String,
        /// Line, from 1.
        line: u32,
        /// Column, from 1; 0 where unknown.
        column: u32,
    },
    /// A function, by its first instruction.
    Function {
        /// Runtime address.
        address: u64,
        /// Name that the program recorded itself (the type name of a future); empty if none.
        name: String,
    },
    /// An address within a function, to be symbolized exactly.
    Address(u64),
    /// A return address: the call is the instruction before.
    ReturnAddress(u64),
}

impl Place {
    /// The runtime address, unless the program recorded a source position.
    pub fn address(&self) -> Option<u64> {
        match self {
            Place::Function { address, .. }
            | Place::Address(address)
            | Place::ReturnAddress(address) => Some(*address),
            Place::Source { .. } => None,
        }
    }
}

impl Default for Place {
    fn default() -> Self {
        Place::Address(0)
    }
}

/// An await chain: the stack when a coroutine began to wait. The innermost function is the probe's,
/// called by a leaf future; the outermost polled the coroutine. Waits with different chains have
/// different sites, and the place of a site is what is known without its chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The site of the waits with this chain.
    pub site: SiteId,
    /// The last address is in the function that polled the coroutine; otherwise the outermost functions
    /// are missing.
    pub is_whole: bool,
    /// Runtime addresses as found by following frame pointers: first an address in the innermost
    /// function, then the return addresses. They are not verified: a function compiled without frame
    /// pointers makes all addresses behind it meaningless. The exception is a chain for which
    /// [`is_of_the_call`](Chain::is_of_the_call) is true.
    pub addresses: Vec<u64>,
}

impl Chain {
    /// Whether the chain holds only the call of the innermost function, which recorded its own return
    /// address. That needs no frame pointers.
    pub fn is_of_the_call(&self) -> bool {
        !self.is_whole && self.addresses.len() == 2
    }
}

/// The branches of a wait for several leaf futures, as in a `select!`. Each is known by its chain, at a
/// site of its own. The argument of an event at `site` whose wait is [`WaitKind::Unknown`] has a bit for
/// each branch, in this order: since the previous suspend, that branch has waited and no waker of it was
/// called.
///
/// [`WaitKind::Unknown`]: crate::record::WaitKind::Unknown
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Branches {
    /// The site of the waits with these branches.
    pub site: SiteId,
    /// The sites of the branches. The branch that was polled last comes first.
    pub sites: Vec<SiteId>,
}
