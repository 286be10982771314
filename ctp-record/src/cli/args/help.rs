//! The help texts around the list of options.

/// Examples.
pub const EXAMPLES: &str = "\
Examples:
  ctp-record -- ./app --port 8080        record, write ctp.data, then: ctp-report --stuck
  ctp-record -o night.ctp -- ./app       write somewhere else
  ctp-record -n 200000 -- ./app          room for 200 000 coroutines
  ctp-record --summary -- ./app          totals instead of history, for days
  ctp-record --flight-recorder=30s -- ./app      the last 30 s, written when it ends
  ctp-record --stuck-after 2s -- ./app   report stuck coroutines while it runs
  ctp-record --inherit-fd -- sudo ./app  hand the memory over by descriptor, not by path
  ctp-record --check-probe -- ./app      check the program's probe against the protocol
  ctp-record control 1234 snapshot       write what a flight recorder has now
  ctp-record control 1234 stop           keep no events of process 1234, until `control 1234 start`
  ctp-record -p 4127                     inspect a running process: stuck tasks, blocked threads;
                                         with a probe, record it until Ctrl-C
  ctp-record -p 4127 -d 30s --every 5s   inspect every 5 s, for 30 s
  ctp-record --core core.4127            inspect a core file
  ctp-record --image ram.bin --elf fw.elf   read a memory dump instead of running a program
  ctp-record --gdb :3333 --elf fw.elf       record the target of a debug probe, until Ctrl-C
  ctp-record --image ram.bin --follow       record a simulator that maps its memory to the file

The program links a probe (ctp-nostd, or another probe for cTP v1) and attaches by itself. It keeps
its terminal, its signals and its exit status, and is never stopped.";

/// The forms of the command.
pub const USAGE: &str = "\
ctp-record [OPTIONS] -- PROGRAM [ARGS]...
       ctp-record [OPTIONS] -p PID
       ctp-record [OPTIONS] --core FILE
       ctp-record [OPTIONS] --image FILE [--follow]
       ctp-record [OPTIONS] --gdb HOST:PORT --elf ELF
       ctp-record control PID COMMAND";

/// Notes that belong to no single option.
pub const AFTER: &str = "\
Options come before the program's name, or before `--`; all later words belong to the program.
A DURATION is a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s.
While a recording runs, `ctp-report --stuck` in another terminal shows what is stuck so far.
If stdout is redirected, a line on the terminal shows the progress; -q hides it.

Exit status:
  That of the program: 128+n if signal n ended it, 126 or 127 if it cannot be executed.
  2 for wrong usage. 1 for an error of the recorder: the trace or the final snapshot cannot be
  written, or, for a flight recorder without a final snapshot, no requested snapshot was written.
  With --check-probe: 0, or 3 if a rule is broken.

Signals:
  Ctrl-C goes to the program; recording goes on until it ends. A second Ctrl-C ends the recording.
  INT, TERM, HUP, QUIT, USR1 and USR2 sent to ctp-record alone are passed on to the program.
  Other signals that would end ctp-record (ALRM; XCPU at its ulimit -t) end the recording: the trace
  is completed, and the program goes on unrecorded. Those of faults (SEGV, ILL) end ctp-record.

Buffers:
  Up to 128 threads of a process have a full buffer at a time, more if --buffer is below 8M (1024
  with 1M or less, where memory allows). Up to 4096 more get a short buffer of at most 64K; all
  short buffers together take no more memory than the full ones.
  A program that calls mlockall after attaching locks the buffers, too: make them small, for example
  with --buffer 64K -n 1000.
  With --no-bell a thread still calls gettid at its first event, and does not reuse the buffer of a
  thread that ended without releasing its buffer.

Flight recorder:
  Writes nothing while the program runs. For each thread it keeps what --buffer holds, but nothing
  older than DURATION; --flight-recorder=SIZE is the same as --flight-recorder --buffer SIZE.
  Totals of earlier events are exact. Snapshots while the program runs are FILE.1, FILE.2 and so on;
  those of an earlier recording are kept as FILE.1.old, FILE.2.old and so on. A signal that requests
  a snapshot (USR1, USR2, ALRM, VTALRM, PROF, IO) is sent to ctp-record.

Call stacks of coroutines with stacks of their own:
  Copied from outside while the coroutine waits. If the coroutine goes on during three copies, its
  next run waits for the next copy, 50 ms at most. The closing lines count the runs that waited up
  to this limit. With --no-freeze no run waits, and the trace may lack such a stack.

Stuck coroutines while the program runs:
  --stuck-after reports each place once, and again when twice as many are stuck there. Places with
  BUSY coroutines are reported, too, with the thread that they block. LIKELY marks what may still
  change. With --snapshot-on stuck:2s, a snapshot is taken whenever stuck coroutines would be
  reported, 16 at most; BUSY causes none.

Running processes and core files:
  -p needs no probe: it reads the memory of the process, which is neither stopped nor changed. It
  may inspect processes of the same user that allow it (root: all). Then: ctp-report --stuck.
  If the process has a probe that has not tried to attach before, -p also requests that it attaches,
  by a write to the memory that the probe keeps for that; recording goes on until Ctrl-C or -d.
  Coroutines that live already are recorded from their next run on; programs that it starts are not
  recorded. --no-attach only inspects.
  With --interrupt, ptrace stops each running thread for some microseconds, because the stack of a
  running thread cannot be read. A system call that the thread is just beginning may give EINTR.
  --core reads a core file of the kernel or of gcore in the same way. It shows a single moment:
  which timers were due, and for how long a thread was in a call, is unknown.

Firmware that runs:
  --image FILE --follow reads FILE every millisecond, while a simulator maps the memory of firmware
  there. --gdb reads through a server for debuggers, and says so if each reading stops the target.
  Both end with Ctrl-C, or when the firmware is reset, and change nothing in the target.
  Events that were overwritten before they were read are counted as lost.";

/// Heading of options about which events are kept, and until when.
pub const KEPT: &str = "What to record";
/// Heading of options about memory.
pub const ROOM: &str = "Memory";
/// Heading of options about messages on the terminal.
pub const MESSAGES: &str = "Messages";
/// Heading of options for programs that cannot be recorded in the usual way.
pub const REACHED: &str = "How to reach the program";
/// Heading of options that record nothing.
pub const INSTEAD: &str = "Instead of recording a program";

/// Help of `--stuck-after`, in two lines to fit a terminal.
pub const STUCK_AFTER: &str = "\
While it runs, report places where coroutines have been stuck,
or have blocked a thread, for this long";

/// Help of `--completions`, in two lines.
pub const COMPLETIONS: &str = "\
Print a completion script for SHELL:
bash, zsh, fish, elvish or powershell";
