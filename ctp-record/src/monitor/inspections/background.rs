//! Inspects recorded processes on a separate thread, so that reading events never waits for an inspection.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use ctp_inspect::{CoroutineStacks, Inspector, ProcessTarget, SearchPaths, TargetError, TraceIds};
use ctp_trace::record::{ProcessId, Record};

use crate::cli::config::Inspect;
use crate::inspection;
use crate::inspection::clock::relative;
use crate::memory::clock::{Clock, processor_time};
use crate::monitor::inspections::explanation::explanation;
use crate::monitor::inspections::freezes::Freezer;
use crate::monitor::inspections::stacks::{self, StackPlace};
use crate::session::scheduling_priority;

/// A process to inspect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its number in the trace.
    pub process: ProcessId,
    /// The kernel's id.
    pub pid: u32,
    /// What is inspected.
    pub scope: Scope,
}

/// What an inspection reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The threads, which takes little time.
    Threads,
    /// Tasks and threads.
    TasksAndThreads,
    /// The stacks of coroutines.
    Stacks,
}

/// A request, with the coroutines whose stacks are read.
#[derive(Debug)]
struct Job {
    request: Request,
    places: Vec<StackPlace>,
}

/// How processes are inspected.
#[derive(Clone, Debug)]
struct Options {
    interrupts: bool,
    /// Coroutines may have to wait while their stacks are copied.
    freezes: bool,
    search_paths: SearchPaths,
}

/// The result of a request.
#[derive(Debug)]
pub struct Answer {
    /// What was requested.
    pub request: Request,
    /// The records of the inspection, with times of the trace. Empty if the process has ended.
    pub records: Vec<Record>,
    /// The process can be read.
    pub is_readable: bool,
    /// The processor time that the inspection took.
    pub cost: Duration,
}

/// The inspecting thread, which starts at the first request.
#[derive(Debug)]
pub struct Background {
    clock: Clock,
    options: Options,
    jobs: Option<Sender<Job>>,
    answers: Receiver<Answer>,
    sender: Sender<Answer>,
    pending: Vec<Request>,
}

impl Background {
    /// Creates the state without starting the thread. The clock is that of the trace. If `freezes`, coroutines may have
    /// to wait while their stacks are copied.
    pub fn new(clock: Clock, freezes: bool) -> Self {
        let (sender, answers) = channel();
        Background {
            clock,
            options: Options {
                interrupts: false,
                freezes,
                search_paths: SearchPaths::recorded(),
            },
            jobs: None,
            answers,
            sender,
            pending: Vec::new(),
        }
    }

    /// Sets the options of inspections as the user asked. Has no effect once the thread has started.
    pub fn set_options(&mut self, inspect: &Inspect) {
        self.options = Options {
            interrupts: inspect.interrupts,
            freezes: self.options.freezes,
            search_paths: inspection::search_paths(&inspect.debug_directories),
        };
    }

    /// Requests an inspection, unless an inspection of this process is pending. If no thread can be started, nothing is
    /// inspected.
    pub fn request(&mut self, request: Request) {
        if !self.is_pending(request.process) {
            let places = Vec::new();
            self.send(Job { request, places });
        }
    }

    /// Requests the stacks of these coroutines of a process. If no thread can be started, no stack is read.
    pub fn request_stacks(&mut self, request: Request, places: Vec<StackPlace>) {
        self.send(Job { request, places });
    }

    fn send(&mut self, job: Job) {
        let request = job.request;
        if self.jobs.is_none() {
            let options = self.options.clone();
            self.jobs = start(self.clock, options, self.sender.clone()).ok();
        }
        let jobs = self.jobs.as_ref();
        if jobs.is_some_and(|jobs| jobs.send(job).is_ok()) {
            self.pending.push(request);
        }
    }

    /// Whether an inspection of this process was requested and has no answer yet.
    pub fn is_pending(&self, process: ProcessId) -> bool {
        let mut inspections = self
            .pending
            .iter()
            .filter(|request| request.scope != Scope::Stacks);
        inspections.any(|request| request.process == process)
    }

    /// Whether stacks of coroutines were requested and have not been read yet.
    pub fn is_reading_stacks(&self) -> bool {
        let mut pending = self.pending.iter();
        pending.any(|request| request.scope == Scope::Stacks)
    }

    /// Whether any request has no answer yet.
    pub fn is_working(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next answer, if there is one.
    pub fn answer(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        let mut pending = self.pending.iter();
        if let Some(at) = pending.position(|request| *request == answer.request) {
            self.pending.remove(at);
        }
        Some(answer)
    }
}

fn start(clock: Clock, options: Options, answers: Sender<Answer>) -> io::Result<Sender<Job>> {
    let (sender, jobs) = channel();
    let thread = thread::Builder::new().name("inspector".into());
    thread.spawn(move || work(clock, options, jobs, answers))?;
    Ok(sender)
}

/// Answers requests until the recording ends.
fn work(clock: Clock, options: Options, jobs: Receiver<Job>, answers: Sender<Answer>) {
    scheduling_priority::step_back();
    let mut worker = Worker::new(options, clock);
    for Job { request, places } in jobs {
        let begin = processor_time();
        let inspected = worker.perform(request, &places);
        let is_readable = inspected.is_ok();
        let records = match inspected {
            Ok(records) => records,
            Err(TargetError::Ended) => Vec::new(),
            Err(error) => explanation(request, &error),
        };
        let records = records.into_iter();
        let answer = Answer {
            request,
            records: records
                .map(|record| relative(record, clock.monotonic_ns))
                .collect(),
            is_readable,
            cost: processor_time().saturating_sub(begin),
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

/// The inspectors of all processes so far.
struct Worker {
    options: Options,
    clock: Clock,
    inspectors: HashMap<ProcessId, Inspector>,
    stacks: HashMap<ProcessId, CoroutineStacks>,
    freezer: Freezer,
    ids: TraceIds,
}

impl Worker {
    fn new(options: Options, clock: Clock) -> Self {
        Worker {
            freezer: Freezer::new(options.freezes),
            options,
            clock,
            inspectors: HashMap::new(),
            stacks: HashMap::new(),
            ids: TraceIds::default(),
        }
    }

    fn perform(
        &mut self,
        request: Request,
        places: &[StackPlace],
    ) -> Result<Vec<Record>, TargetError> {
        match request.scope {
            Scope::Stacks => self.read_stacks(request, places),
            Scope::Threads | Scope::TasksAndThreads => self.inspect(request),
        }
    }

    fn read_stacks(
        &mut self,
        request: Request,
        places: &[StackPlace],
    ) -> Result<Vec<Record>, TargetError> {
        let mut stacks = match self.stacks.remove(&request.process) {
            Some(stacks) => stacks,
            None => CoroutineStacks::new(Box::new(ProcessTarget::open(request.pid)?)),
        };
        stacks.refresh()?;
        let read = stacks::read(&mut stacks, places, &self.clock, &mut self.freezer);
        self.stacks.insert(request.process, stacks);
        Ok(read.into_iter().map(Record::CoroutineStack).collect())
    }

    fn inspect(&mut self, request: Request) -> Result<Vec<Record>, TargetError> {
        let process = request.process;
        let mut inspector = match self.inspectors.remove(&process) {
            Some(inspector) => inspector,
            None => self.open(request)?,
        };
        let records = match request.scope {
            Scope::Threads => inspector.inspect_only_threads()?,
            Scope::TasksAndThreads => inspector.inspect(&mut self.ids)?,
            Scope::Stacks => Vec::new(),
        };
        self.inspectors.insert(process, inspector);
        Ok(records)
    }

    fn open(&self, request: Request) -> Result<Inspector, TargetError> {
        let mut target = ProcessTarget::open(request.pid)?;
        if self.options.interrupts {
            target = target.interrupting();
        }
        let search_paths = self.options.search_paths.clone();
        let target = Box::new(target);
        Ok(Inspector::with_search_paths(
            target,
            request.process,
            search_paths,
        ))
    }
}
