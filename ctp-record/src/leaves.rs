//! Finds what the leaf futures of the recorded await chains wait for, by the functions in the program's debug info or
//! symbols. Also finds which chains are at the same place of the source, because the compiler may have duplicated the
//! code.
//!
//! Reading debug info takes long for a large program. It is therefore read on a separate thread, and only once some
//! coroutine has waited for a second, or may have waited that long for a branch of a `select!`.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ctp_inspect::{ChainPlace, LeafFunctions, SearchPaths};
use ctp_trace::record::{Branches, Chain, Leaf, LeafKind, Module, ProcessId, Record, Site, SiteId};

/// Maximum number of chains that wait to be examined; later ones stay unknown.
const MAX_PENDING: usize = 1 << 14;

/// Once this many places are known, the places of further chains are not looked up, because that takes symbols. Those of
/// branches always are.
const MAX_PLACES: usize = 1 << 11;

/// Maximum number of bytes of debug info that are read.
const MAX_BYTES: u64 = 512 << 20;

/// A branch that has waited for less is not judged.
const JUDGED: Duration = Duration::from_secs(1);

/// The await chains of a recording, and what their leaf futures wait for.
#[derive(Debug, Default)]
pub struct Leaves {
    latest_site: Option<(SiteId, ProcessId)>,
    /// When the first wait with several branches was noted.
    first_branches: Option<Instant>,
    pending: LeafRequest,
    thread: Option<LeafThread>,
}

/// Chains to be examined, and the modules that were mapped since the previous request.
#[derive(Debug, Default)]
struct LeafRequest {
    modules: Vec<Module>,
    chains: Vec<(ProcessId, Chain)>,
    /// The branches of waits. Their chains are in this request or an earlier one.
    branches: Vec<SiteId>,
}

/// The thread that examines chains.
#[derive(Debug)]
struct LeafThread {
    requests: Sender<LeafRequest>,
    answers: Receiver<Vec<Leaf>>,
    /// Requests without an answer.
    open: usize,
}

impl Leaves {
    /// Takes a record. A chain directly follows its site.
    pub fn note(&mut self, record: &Record) {
        match record {
            Record::Module(module) => self.pending.modules.push(module.clone()),
            Record::Site(Site { id, process, .. }) => self.latest_site = Some((*id, *process)),
            Record::Chain(chain) => self.note_chain(chain),
            Record::Branches(branches) => self.note_branches(branches),
            _ => {}
        }
    }

    fn note_chain(&mut self, chain: &Chain) {
        let site = self.latest_site.filter(|(site, _)| *site == chain.site);
        if let Some((_, process)) = site
            && self.pending.chains.len() < MAX_PENDING
        {
            self.pending.chains.push((process, chain.clone()));
        }
    }

    fn note_branches(&mut self, branches: &Branches) {
        self.first_branches.get_or_insert_with(Instant::now);
        if self.pending.branches.len() < MAX_PENDING {
            self.pending.branches.extend(&branches.sites);
        }
    }

    /// Whether a coroutine may have waited for one branch for a second, even if it was polled for other branches
    /// meanwhile.
    pub fn may_have_long_branches(&self) -> bool {
        self.first_branches.is_some_and(|at| JUDGED <= at.elapsed())
    }

    /// Requests that the chains noted since the previous call are examined.
    pub fn request(&mut self) {
        if self.pending.chains.is_empty() && self.pending.branches.is_empty() {
            return;
        }
        if self.thread.is_none() {
            self.thread = LeafThread::start();
        }
        if let Some(thread) = &mut self.thread {
            thread.request(std::mem::take(&mut self.pending));
        }
    }

    /// What was found since the previous call.
    pub fn found(&mut self) -> Vec<Leaf> {
        self.thread
            .as_mut()
            .map_or_else(Vec::new, |thread| thread.answers_until(Instant::now()))
    }

    /// What is found within this time. Returns earlier once all requests are answered.
    pub fn found_within(&mut self, time: Duration) -> Vec<Leaf> {
        let until = Instant::now() + time;
        self.thread
            .as_mut()
            .map_or_else(Vec::new, |thread| thread.answers_until(until))
    }
}

impl LeafThread {
    /// `None` if no thread can be started: then it stays unknown what leaf futures wait for.
    fn start() -> Option<Self> {
        let (requests, receiver) = channel();
        let (sender, answers) = channel();
        let thread = thread::Builder::new().name("ctp-leaves".to_owned());
        thread.spawn(move || examine_all(&receiver, &sender)).ok()?;
        Some(LeafThread {
            requests,
            answers,
            open: 0,
        })
    }

    fn request(&mut self, request: LeafRequest) {
        self.open += usize::from(self.requests.send(request).is_ok());
    }

    fn answers_until(&mut self, until: Instant) -> Vec<Leaf> {
        let mut found = Vec::new();
        while 0 < self.open {
            let rest = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(rest) {
                Ok(mut answer) => found.append(&mut answer),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    self.open = 0;
                    break;
                }
            }
            self.open -= 1;
        }
        found
    }
}

/// Examines chains until the recording ends.
fn examine_all(requests: &Receiver<LeafRequest>, answers: &Sender<Vec<Leaf>>) {
    let mut examiner = Examiner::new();
    while let Ok(request) = requests.recv() {
        if answers.send(examiner.examine(request)).is_err() {
            return;
        }
    }
}

/// Examines await chains.
struct Examiner {
    functions: LeafFunctions,
    modules: Vec<Module>,
    /// The chains so far of which the place has not been found.
    chains: HashMap<SiteId, (ProcessId, Chain)>,
    /// The first site at each place.
    firsts: HashMap<(ProcessId, LeafKind, ChainPlace), SiteId>,
}

impl Examiner {
    fn new() -> Self {
        let search_paths = SearchPaths::recorded().with_max_bytes(MAX_BYTES);
        Examiner {
            functions: LeafFunctions::new(search_paths),
            modules: Vec::new(),
            chains: HashMap::new(),
            firsts: HashMap::new(),
        }
    }

    fn examine(&mut self, mut request: LeafRequest) -> Vec<Leaf> {
        self.modules.append(&mut request.modules);
        let mut leaves = Vec::new();
        for (process, chain) in std::mem::take(&mut request.chains) {
            let leaf = self.leaf(process, &chain);
            if leaf.same_as == SiteId(0) {
                self.chains.insert(chain.site, (process, chain));
            }
            leaves.extend(Some(leaf).filter(|leaf| leaf.kind != LeafKind::Unknown));
        }
        let branches = request.branches.into_iter();
        leaves.extend(branches.filter_map(|site| self.branch(site)));
        leaves
    }

    /// What the leaf future of a chain waits for, and where if that is known too.
    fn leaf(&mut self, process: ProcessId, chain: &Chain) -> Leaf {
        let kind = self
            .functions
            .kind(process, &chain.addresses, &self.modules);
        let has_kind = !matches!(kind, LeafKind::Unknown | LeafKind::SharedSite);
        let same_as = if has_kind && self.firsts.len() < MAX_PLACES {
            self.first_at_place(process, chain, kind)
        } else {
            None
        };
        Leaf {
            site: chain.site,
            kind,
            same_as: same_as.unwrap_or_default(),
        }
    }

    /// The first site at the place of a chain. `None` if the place is not known.
    fn first_at_place(
        &mut self,
        process: ProcessId,
        chain: &Chain,
        kind: LeafKind,
    ) -> Option<SiteId> {
        let place = self.functions.place(process, chain, &self.modules)?;
        let first = self.firsts.entry((process, kind, place));
        Some(*first.or_insert(chain.site))
    }

    /// Examines a branch, once.
    fn branch(&mut self, site: SiteId) -> Option<Leaf> {
        let (process, chain) = self.chains.remove(&site)?;
        let kind = self
            .functions
            .kind(process, &chain.addresses, &self.modules);
        let first = self.first_at_place(process, &chain, kind);
        Some(Leaf {
            site,
            kind,
            same_as: first.unwrap_or(site),
        })
    }
}
