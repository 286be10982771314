//! Inspects recorded processes on a separate thread, so that reading events never waits for an inspection.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use ctp_inspect::{Inspector, ProcessTarget, SearchPaths, TargetError, TraceIds};
use ctp_trace::record::{Inspection, InspectionEnd, ProcessId, Record};

use crate::cli::config::Inspect;
use crate::inspection;
use crate::inspection::clock::relative;
use crate::memory::clock::{Clock, processor_time};
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
}

/// How processes are inspected.
#[derive(Clone, Debug)]
struct Options {
    interrupts: bool,
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
    requests: Option<Sender<Request>>,
    answers: Receiver<Answer>,
    sender: Sender<Answer>,
    pending: Vec<Request>,
}

impl Background {
    /// Creates the state without starting the thread. The clock is that of the trace.
    pub fn new(clock: Clock) -> Self {
        let (sender, answers) = channel();
        Background {
            clock,
            options: Options {
                interrupts: false,
                search_paths: SearchPaths::recorded(),
            },
            requests: None,
            answers,
            sender,
            pending: Vec::new(),
        }
    }

    /// Sets the options of inspections as the user asked. Has no effect once the thread has started.
    pub fn set_options(&mut self, inspect: &Inspect) {
        self.options = Options {
            interrupts: inspect.interrupts,
            search_paths: inspection::search_paths(&inspect.debug_directories),
        };
    }

    /// Requests an inspection, unless an inspection of this process is pending. If no thread can be started, nothing is
    /// inspected.
    pub fn request(&mut self, request: Request) {
        if self.is_pending(request.process) {
            return;
        }
        if self.requests.is_none() {
            let options = self.options.clone();
            self.requests = start(self.clock, options, self.sender.clone()).ok();
        }
        let sent = self
            .requests
            .as_ref()
            .is_some_and(|requests| requests.send(request).is_ok());
        if sent {
            self.pending.push(request);
        }
    }

    /// Whether an inspection of this process was requested and has no answer yet.
    pub fn is_pending(&self, process: ProcessId) -> bool {
        let mut pending = self.pending.iter();
        pending.any(|request| request.process == process)
    }

    /// Whether any request has no answer yet.
    pub fn is_working(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next answer, if there is one.
    pub fn answer(&mut self) -> Option<Answer> {
        let answer = self.answers.try_recv().ok()?;
        self.pending.retain(|request| *request != answer.request);
        Some(answer)
    }
}

fn start(clock: Clock, options: Options, answers: Sender<Answer>) -> io::Result<Sender<Request>> {
    let (sender, requests) = channel();
    let thread = thread::Builder::new().name("inspector".into());
    thread.spawn(move || work(clock, options, requests, answers))?;
    Ok(sender)
}

/// Answers requests until the recording ends.
fn work(clock: Clock, options: Options, requests: Receiver<Request>, answers: Sender<Answer>) {
    scheduling_priority::step_back();
    let mut worker = Worker::new(options);
    for request in requests {
        let begin = processor_time();
        let inspected = worker.inspect(request);
        let is_readable = inspected.is_ok();
        let records = match inspected {
            Ok(records) => records,
            Err(TargetError::Ended) => Vec::new(),
            Err(error) => explanation(request.process, &error),
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
    inspectors: HashMap<ProcessId, Inspector>,
    ids: TraceIds,
}

impl Worker {
    fn new(options: Options) -> Self {
        Worker {
            options,
            inspectors: HashMap::new(),
            ids: TraceIds::default(),
        }
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

/// The records of an inspection that found nothing, with the reason.
fn explanation(process: ProcessId, error: &TargetError) -> Vec<Record> {
    vec![
        Record::Inspection(Inspection {
            process,
            number: 1,
            only_threads: true,
            ..Inspection::default()
        }),
        Record::InspectionEnd(InspectionEnd {
            process,
            number: 1,
            gaps: vec![format!("The threads cannot be read: {error}.")],
            ..InspectionEnd::default()
        }),
    ]
}
