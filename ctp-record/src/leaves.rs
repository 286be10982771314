//! Finds what the leaf futures of the recorded await chains wait for, by the functions in the program's
//! debug info or symbols.
//!
//! Reading them takes long for a large program, so that is done on a thread of its own, and only once
//! some coroutine has waited for a second, or may have waited for so long for a branch of a `select!`.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use ctp_inspect::{LeafFunctions, SearchPaths};
use ctp_trace::record::{Chain, Leaf, Module, ProcessId, Record, Site, SiteId};

/// Maximum number of chains that wait to be examined; later ones stay unknown.
const MAX_PENDING: usize = 1 << 14;

/// Maximum number of bytes of debug info that are read.
const MAX_BYTES: u64 = 512 << 20;

/// No branch is judged that has waited for less.
const JUDGED: Duration = Duration::from_secs(1);

/// The await chains of a recording, and what their leaf futures wait for.
#[derive(Debug, Default)]
pub struct Leaves {
    latest_site: Option<(SiteId, ProcessId)>,
    /// When the first wait with several branches was noted.
    first_branches: Option<Instant>,
    pending: Request,
    thread: Option<Thread>,
}

/// Chains to be examined, and the modules that were mapped since the request before.
#[derive(Debug, Default)]
struct Request {
    modules: Vec<Module>,
    chains: Vec<(ProcessId, Chain)>,
}

/// The thread that examines chains.
#[derive(Debug)]
struct Thread {
    requests: Sender<Request>,
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
            Record::Branches(_) => _ = self.first_branches.get_or_insert_with(Instant::now),
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

    /// Whether a coroutine may have waited for a branch for a second, even if it was polled for others.
    pub fn may_have_long_branches(&self) -> bool {
        self.first_branches.is_some_and(|at| JUDGED <= at.elapsed())
    }

    /// Has the chains examined that were noted since the previous call.
    pub fn request(&mut self) {
        if self.pending.chains.is_empty() {
            return;
        }
        if self.thread.is_none() {
            self.thread = Thread::start();
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

    /// What is found of all requests within this time.
    pub fn found_within(&mut self, time: Duration) -> Vec<Leaf> {
        let until = Instant::now() + time;
        self.thread
            .as_mut()
            .map_or_else(Vec::new, |thread| thread.answers_until(until))
    }
}

impl Thread {
    /// `None` if the system has no thread left: then nothing is known.
    fn start() -> Option<Self> {
        let (requests, receiver) = channel();
        let (sender, answers) = channel();
        let thread = thread::Builder::new().name("ctp-leaves".to_owned());
        thread.spawn(move || examine_all(&receiver, &sender)).ok()?;
        Some(Thread {
            requests,
            answers,
            open: 0,
        })
    }

    fn request(&mut self, request: Request) {
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
fn examine_all(requests: &Receiver<Request>, answers: &Sender<Vec<Leaf>>) {
    let search_paths = SearchPaths::recorded().with_max_bytes(MAX_BYTES);
    let mut functions = LeafFunctions::new(search_paths);
    let mut modules = Vec::new();
    while let Ok(mut request) = requests.recv() {
        modules.append(&mut request.modules);
        let chains = request.chains.iter();
        let leaves = chains.map(|(process, chain)| Leaf {
            site: chain.site,
            kind: functions.kind(*process, &chain.addresses, &modules),
        });
        if answers.send(leaves.collect()).is_err() {
            return;
        }
    }
}
