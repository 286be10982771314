//! Processes whose sockets hold nothing that a coroutine could wait for.

use super::TraceModel;
use super::coroutine::Coroutine;
use crate::hash::Map;
use crate::record::{Leaf, LeafKind, Nanos, ProcessId, SiteId, Sockets, WaitKind};
use crate::verdict::EmptyEvidence;

/// The observations of sockets, and what the leaf futures at each site wait for.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketWaits {
    kinds: Map<SiteId, LeafKind>,
    /// The sites that stand for all waits of a function.
    shared_sites: Map<SiteId, ()>,
    /// The latest observation of each process, if all of its sockets were drained.
    drained: Map<ProcessId, Nanos>,
    /// The processes with unsent bytes in sockets at the latest observation.
    unsent: Map<ProcessId, ()>,
}

impl SocketWaits {
    pub(super) fn note_leaf(&mut self, leaf: &Leaf) {
        if leaf.kind == LeafKind::SharedSite {
            self.shared_sites.insert(leaf.site, ());
        } else {
            self.shared_sites.remove(&leaf.site);
            self.kinds.insert(leaf.site, leaf.kind);
        }
    }

    pub(super) fn note_sockets(&mut self, sockets: &Sockets) {
        if sockets.unsent > 0 {
            self.unsent.insert(sockets.process, ());
        } else {
            self.unsent.remove(&sockets.process);
        }
        if sockets.undrained > 0 || sockets.unsent > 0 {
            self.drained.remove(&sockets.process);
            return;
        }
        self.drained.insert(sockets.process, sockets.at);
    }

    /// What the leaf future waits for. Unknown if the site stands for all waits of a function.
    pub(super) fn kind(&self, site: SiteId) -> LeafKind {
        self.kinds.get(&site).copied().unwrap_or_default()
    }
}

impl TraceModel {
    /// What the leaf future at a site waits for.
    pub fn leaf_kind_at(&self, site: SiteId) -> LeafKind {
        self.socket_waits.kind(site)
    }

    /// Whether sockets of the process had unsent bytes for a second at the latest observation.
    pub(super) fn has_unsent(&self, process: ProcessId) -> bool {
        self.socket_waits.unsent.contains_key(&process)
    }

    /// Whether the coroutine waits at a site that stands for all waits of a function.
    pub(super) fn waits_at_shared_site(&self, coroutine: &Coroutine) -> bool {
        let wait = coroutine.suspend();
        wait.is_some_and(|wait| {
            wait.wait == WaitKind::Unknown
                && self.socket_waits.shared_sites.contains_key(&wait.site)
        })
    }

    /// What the leaf future of the coroutine waits for. Unknown if the program announced the wait, which
    /// says more, and for a wait with branches of several kinds.
    pub fn leaf_kind(&self, coroutine: &Coroutine) -> LeafKind {
        let Some(wait) = coroutine
            .suspend()
            .filter(|wait| wait.wait == WaitKind::Unknown)
        else {
            return LeafKind::Unknown;
        };
        let mut branches = self.branches(coroutine.id).map(|(site, _)| site);
        let first = branches.next().unwrap_or(wait.site);
        let kind = self.socket_waits.kind(first);
        if branches.all(|site| self.socket_waits.kind(site) == kind) {
            kind
        } else {
            LeafKind::Unknown
        }
    }

    /// The latest observation of the process's sockets, if all of them were drained, and the coroutine
    /// waits for one of the process's descriptors.
    pub(super) fn drained_evidence(&self, coroutine: &Coroutine) -> Option<EmptyEvidence> {
        let at = *self.socket_waits.drained.get(&coroutine.process)?;
        let is_io = self.leaf_kind(coroutine) == LeafKind::Io;
        is_io.then_some(EmptyEvidence { fd: None, at })
    }
}
