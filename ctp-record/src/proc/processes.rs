//! The processes that write into the shared memories, and the files mapped into them.
//!
//! The maps of a process are read when the process is first seen, and again for an address outside all known files.
//! Reading them at the end would be too late, because a zombie has no maps.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::FileExt as _;

use crate::harvest::{Outside, Sink, StationProcess, TraceNumbers};
use crate::memory::clock::Clock;
use crate::proc::file_id::{FileId, FileIds};
use crate::proc::maps::{self, Mapping};
use crate::proc::namespace;
use crate::proc::process::{self, is_stopped, process_of_thread};
use crate::proc::time_namespace;
use ctp_trace::record::{Module, Nanos, Process, ProcessEnd, ProcessExit, ProcessId, Record};

/// The recorded processes.
#[derive(Debug)]
pub struct Processes {
    clock: Clock,
    /// The launched process, to which records are attributed by default.
    launched: u32,
    /// The inode of the memory that every program finds.
    inode: u64,
    /// The number of searches for a process by its own id.
    searches: u32,
    known: HashMap<u32, Known>,
    exited: HashSet<u32>,
    /// The number of each program.
    programs: HashMap<(Vec<u8>, FileId), u32>,
    /// The program of each process, including ended processes.
    program_of: HashMap<ProcessId, u32>,
    /// The number of processes so far.
    met: u32,
    numbers: TraceNumbers,
    file_ids: FileIds,
}

#[derive(Debug, Default)]
struct Known {
    id: ProcessId,
    /// Its id in its own namespace.
    own_number: u32,
    /// The nanoseconds by which its clock was ahead of the recorder's when first seen.
    ahead_ns: Option<i64>,
    /// Records of this process have been read.
    has_written: bool,
    /// The program that it runs.
    program: Option<Program>,
    modules: HashSet<Mapping>,
    /// Pages that were searched for without success.
    elsewhere: HashSet<u64>,
}

/// A program file.
#[derive(Clone, Debug)]
struct Program {
    /// Equal for the same file.
    number: u32,
    path: Vec<u8>,
    /// Other processes with an equal number certainly run the same file.
    is_proven: bool,
}

/// Maximum number of pages remembered as no program code, per process.
const MAX_ELSEWHERE: usize = 4096;

/// Maximum number of searches: a faulty program may write many ids that no process has.
const MAX_SEARCHES: u32 = 1024;

impl Processes {
    /// Starts without any process. `inode` is that of the memory that every program finds.
    pub fn new(clock: Clock, launched: u32, inode: u64) -> Self {
        Processes {
            clock,
            launched,
            inode,
            searches: 0,
            known: HashMap::new(),
            exited: HashSet::new(),
            programs: HashMap::new(),
            program_of: HashMap::new(),
            met: 0,
            numbers: TraceNumbers::default(),
            file_ids: FileIds::default(),
        }
    }

    /// Describes a process that has attached or is about to.
    pub fn meet(&mut self, pid: u32, sink: &mut dyn Sink) -> ProcessId {
        self.meet_while(pid, || true, sink)
    }

    /// Describes a program image that has connected. Its maps are recorded only if the image still `is_connected`
    /// after they were read: otherwise they may belong to the next program that the process executes.
    pub fn meet_while(
        &mut self,
        pid: u32,
        is_connected: impl Fn() -> bool,
        sink: &mut dyn Sink,
    ) -> ProcessId {
        if let Some(known) = self.known.get(&pid) {
            return known.id;
        }
        self.met += 1;
        let id = ProcessId(self.met);
        let known = Known {
            id,
            own_number: namespace::own_number(pid).unwrap_or(pid),
            ahead_ns: time_namespace::ahead_ns(pid),
            ..Known::default()
        };
        self.known.insert(pid, known);
        let attached = self.clock.now();
        sink.take(Record::Process(Process { id, pid, attached }));
        self.describe_modules_while(pid, is_connected, sink);
        id
    }

    /// The numbers assigned so far.
    pub fn numbers(&self) -> &TraceNumbers {
        &self.numbers
    }

    /// The program of each process, including ended processes.
    pub fn program_of(&self) -> &HashMap<ProcessId, u32> {
        &self.program_of
    }

    /// Reads the maps of all living processes.
    pub fn describe_all_modules(&mut self, sink: &mut dyn Sink) {
        let pids: Vec<u32> = self.known.keys().copied().collect();
        pids.into_iter()
            .for_each(|pid| self.describe_modules(pid, sink));
    }

    /// The living processes with the kernel's ids, in the order in which they were met.
    pub fn living(&self) -> Vec<(ProcessId, u32)> {
        let known = self.known.iter();
        let mut living: Vec<_> = known.map(|(pid, known)| (known.id, *pid)).collect();
        living.sort_unstable();
        living
    }

    /// The number of living processes.
    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// Whether every process is stopped by a signal or a debugger.
    pub fn are_all_stopped(&self) -> bool {
        !self.known.is_empty() && self.known.keys().all(|pid| is_stopped(*pid))
    }

    /// The id of a living process in the trace.
    pub fn id_of(&self, pid: u32) -> Option<ProcessId> {
        self.known.get(&pid).map(|known| known.id)
    }

    /// Whether records of this living process have been read.
    pub fn has_written(&self, pid: u32) -> bool {
        self.known.get(&pid).is_some_and(|known| known.has_written)
    }

    /// The kernel's id of a living process.
    pub fn pid_of(&self, process: ProcessId) -> Option<u32> {
        let known = self.known.iter().find(|(_, known)| known.id == process);
        known.map(|(pid, _)| *pid)
    }

    /// The kernel's id of a living process whose records contain the kernel's ids of its threads, too. In
    /// another namespace the threads have other ids.
    pub fn pid_with_own_threads(&self, process: ProcessId) -> Option<u32> {
        let pid = self.pid_of(process)?;
        (self.known.get(&pid)?.own_number == pid).then_some(pid)
    }

    /// Records the end of a process. A later process with the same pid is a new process.
    pub fn part_with(&mut self, pid: u32, at: Nanos, how: ProcessExit, sink: &mut dyn Sink) {
        if let Some(known) = self.known.remove(&pid) {
            self.exited.insert(pid);
            sink.take(Record::ProcessEnd(ProcessEnd {
                process: known.id,
                at,
                how,
            }));
        }
    }

    /// Reads the maps of a process again and describes new files.
    pub fn describe_modules(&mut self, pid: u32, sink: &mut dyn Sink) {
        self.describe_modules_while(pid, || true, sink);
    }

    /// Reads the maps again, and describes new files if the image is still connected after reading.
    pub fn describe_modules_while(
        &mut self,
        pid: u32,
        is_connected: impl Fn() -> bool,
        sink: &mut dyn Sink,
    ) {
        let text = maps::text_of(pid).unwrap_or_default();
        if !is_connected() {
            return;
        }
        for mapping in maps::executable(&text) {
            self.describe(pid, mapping, sink);
        }
    }

    /// Whether this process was seen, ended or not.
    pub fn has_met(&self, pid: u32) -> bool {
        self.known.contains_key(&pid) || self.exited.contains(&pid)
    }

    fn describe(&mut self, pid: u32, mapping: Mapping, sink: &mut dyn Sink) {
        let Some(known) = self.known.get_mut(&pid) else {
            return;
        };
        if !known.modules.insert(mapping.clone()) {
            return;
        }
        let process = known.id;
        let file = self.file_ids.of(pid, &mapping.path);
        self.note_program(pid, (mapping.path.clone(), file.clone()));
        sink.take(Record::Module(Module {
            process,
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.file_offset,
            path: mapping.path,
            build_id: file.build_id,
        }));
    }

    /// Notes the first file as the program: the kernel lists the program before its libraries.
    fn note_program(&mut self, pid: u32, file: (Vec<u8>, FileId)) {
        let next = self.programs.len() as u32 + 1;
        if let Some(known) = self.known.get_mut(&pid) {
            let program = known.program.get_or_insert_with(|| Program {
                path: file.0.clone(),
                is_proven: file.1.is_proof(),
                number: *self.programs.entry(file).or_insert(next),
            });
            self.program_of.insert(known.id, program.number);
        }
    }

    fn owner(&mut self, peer: StationProcess) -> u32 {
        match peer {
            StationProcess::Process(number) => self.with_own_id(number),
            StationProcess::Thread(tid) => self.of_thread(tid).unwrap_or(self.launched),
            StationProcess::Unknown => self.launched,
        }
    }

    /// The process with this id in its own namespace: a known process, else a process that has mapped the memory.
    fn with_own_id(&mut self, number: u32) -> u32 {
        if let Some(pid) = self.met_as(number) {
            return pid;
        }
        if self.searches == MAX_SEARCHES {
            return number;
        }
        self.searches += 1;
        namespace::process_with_number(number, self.inode).unwrap_or(number)
    }

    fn met_as(&self, number: u32) -> Option<u32> {
        let mut known = self.known.iter();
        let met = known.find(|(_, known)| known.own_number == number);
        met.map(|(pid, _)| *pid)
    }

    /// The process of a thread. A main thread is found by the id of its process, even after both have ended. A
    /// thread id of another pid namespace may belong to an unrelated process here.
    fn of_thread(&self, tid: u64) -> Option<u32> {
        let number = u32::try_from(tid).ok()?;
        self.met_as(number).or_else(|| {
            let pid = process_of_thread(tid)?;
            let is_separate = namespace::has_mapped(pid, self.inode) == Some(false);
            (self.known.contains_key(&pid) || !is_separate).then_some(pid)
        })
    }

    fn get(&self, process: ProcessId) -> Option<&Known> {
        self.known.values().find(|known| known.id == process)
    }

    fn covers(&self, pid: u32, address: u64) -> bool {
        let known = self.known.get(&pid);
        known.is_some_and(|known| known.modules.iter().any(|module| module.covers(address)))
    }
}

/// The processes, for a pass over a memory.
#[derive(Debug)]
pub struct Writers<'p> {
    processes: &'p mut Processes,
    /// The only process that has this memory.
    only: Option<u32>,
}

impl<'p> Writers<'p> {
    /// The writers of a memory: only this process, or any process if `only` is `None`.
    pub fn of(processes: &'p mut Processes, only: Option<u32>) -> Self {
        Writers { processes, only }
    }
}

impl Outside for Writers<'_> {
    fn numbers(&mut self) -> &mut TraceNumbers {
        &mut self.processes.numbers
    }

    fn process(&mut self, peer: StationProcess, sink: &mut dyn Sink) -> ProcessId {
        let pid = self.only.unwrap_or_else(|| self.processes.owner(peer));
        let id = self.processes.meet(pid, sink);
        if let Some(known) = self.processes.known.get_mut(&pid) {
            known.has_written = true;
        }
        id
    }

    /// The clocks that the process may have, even if it has ended since it was first seen. If the program starts its
    /// children in a time namespace, a child may end before it is first seen.
    fn clocks_ahead_ns(&mut self, peer: StationProcess) -> Vec<i64> {
        let pid = self.only.unwrap_or_else(|| self.processes.owner(peer));
        let as_met = self
            .processes
            .known
            .get(&pid)
            .and_then(|known| known.ahead_ns);
        let of_children = time_namespace::of_children_ahead_ns(self.processes.launched);
        let clocks = [time_namespace::ahead_ns(pid), as_met, of_children];
        clocks.into_iter().flatten().collect()
    }

    /// The program of a process. A process with unreadable maps counts as a program of its own.
    fn program(&self, process: ProcessId) -> u32 {
        let known = self.processes.get(process);
        let program = known.and_then(|known| known.program.as_ref());
        program.map_or(u32::MAX - process.0, |program| program.number)
    }

    fn offset_in_program(&self, process: ProcessId, address: u64) -> Option<u64> {
        let known = self.processes.get(process)?;
        let program = known.program.as_ref().filter(|program| program.is_proven)?;
        let module = known.modules.iter().find(|module| module.covers(address))?;
        (module.path == program.path)
            .then(|| (address - module.start).wrapping_add(module.file_offset))
    }

    fn words_at(&self, process: ProcessId, address: u64) -> Option<[u64; 2]> {
        let memory = process::open_memory(self.processes.pid_of(process)?).ok()?;
        let mut words = [[0; 8]; 2];
        let bytes = words.as_flattened_mut();
        memory.read_exact_at(bytes, address).ok()?;
        Some(words.map(u64::from_ne_bytes))
    }

    fn is_text(&mut self, process: ProcessId, address: u64, sink: &mut dyn Sink) -> bool {
        let Some(pid) = self.processes.pid_of(process) else {
            return false;
        };
        if self.processes.covers(pid, address) {
            return true;
        }
        let page = address >> 12;
        let is_new = self.processes.known.get_mut(&pid).is_some_and(|known| {
            known.elsewhere.len() < MAX_ELSEWHERE && known.elsewhere.insert(page)
        });
        if is_new {
            self.processes.describe_modules(pid, sink);
        }
        is_new && self.processes.covers(pid, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NullSink;

    impl Sink for NullSink {
        fn take(&mut self, _: Record) {}
    }

    #[test]
    fn ended_first_threads_are_found_and_foreign_threads_not() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let launched = std::process::id();
        let mut processes = Processes::new(Clock::start(), launched, u64::MAX);
        processes.meet(child.id(), &mut NullSink);
        child.wait().expect("our child");
        let tid = |pid: u32| StationProcess::Thread(pid.into());
        assert_eq!(processes.owner(tid(child.id())), child.id());
        let parent = std::os::unix::process::parent_id();
        assert_eq!(processes.owner(tid(parent)), launched, "no such memory");
    }

    /// Counts module records.
    struct Modules(usize);

    impl Sink for Modules {
        fn take(&mut self, record: Record) {
            self.0 += usize::from(matches!(record, Record::Module(_)));
        }
    }

    // CTP-33
    #[test]
    fn maps_of_the_next_image_are_not_recorded() {
        let reported = |is_connected: bool| {
            let pid = std::process::id();
            let mut processes = Processes::new(Clock::start(), pid, u64::MAX);
            let mut modules = Modules(0);
            processes.meet_while(pid, || is_connected, &mut modules);
            modules.0
        };
        assert_eq!(reported(false), 0);
        assert!(reported(true) > 0);
    }
}
