//! The texts around the list of options.

/// What to type, first thing.
pub const EXAMPLES: &str = "\
Examples:
  ctp-record -- ./app --port 8080        record, write ctp.data, then: ctp-report --stuck
  ctp-record -o night.ctp -- ./app       write somewhere else
  ctp-record -n 200000 -- ./app          room for 200 000 coroutines
  ctp-record --summary -- ./app          totals instead of history, for days
  ctp-record --flight-recorder=30s -- ./app      the last 30 s, written when it ends
  ctp-record --stuck-after 2s -- ./app   report stuck coroutines while it runs
  ctp-record --inherit-fd -- sudo ./app  hand the memory over by descriptor, not by path
  ctp-record --check-probe -- ./app      does its probe keep to the protocol?
  ctp-record control 1234 snapshot       what a flight recorder has now, while it goes on
  ctp-record control 1234 stop           keep no events of process 1234 for now; then start
  ctp-record --image ram.bin --elf fw.elf   read a memory dump instead of running a program

The program links a probe (ctp-nostd, or any that speaks cTP v1) and attaches by itself. It keeps
its terminal, its signals and its exit status, and is never stopped.";

/// What there is to type besides options.
pub const USAGE: &str = "\
ctp-record [OPTIONS] -- PROGRAM [ARGS]...
       ctp-record [OPTIONS] --image FILE
       ctp-record control PID COMMAND";

/// What no option says by itself.
pub const AFTER: &str = "\
Options come before the program's name, or before `--`; all words after it are the program's own.
Exit status: that of the program (128+n if signal n ended it), 126 or 127 if it cannot be
executed, 1 for an error of the recorder, 2 for wrong usage. With --check-probe: 0, or 3 if a
rule is broken. It is an error if the trace or the last snapshot cannot be written, or, of a flight
recorder that takes none at the end, none of those that were asked for.
Ctrl-C goes to the program; recording goes on until it ends. A second one ends the wait.
INT, TERM, HUP, QUIT, USR1 and USR2 that are sent to ctp-record alone are passed on to the program.
Any other signal that would end ctp-record (ALRM; XCPU at its ulimit -t) ends the recording instead,
except those of faults (SEGV, ILL): the trace is written to its end, and the program goes on without
being recorded.
Meanwhile `ctp-report --stuck`, in another terminal, tells what is stuck by then.
Up to 128 threads of a process have a full buffer at a time, more if --buffer is below 8M (1024 with
1M or less, where memory allows). Up to 4096 more get a short one, of 64K at most; together these
take no more memory than the full ones.
A program that locks its memory (mlockall) after it attached locks that room too: give it
--buffer 64K -n 1000, say.
With --no-bell a thread still calls gettid at its first event, and has no buffer of one that ended
without saying so.
A flight recorder writes nothing while the program runs. It has of each thread what --buffer holds,
and goes back no further than DURATION; --flight-recorder=SIZE is the same as --flight-recorder
--buffer SIZE.
Of what came before there are exact totals. Snapshots while the program goes on are FILE.1, FILE.2
and so on; those of an earlier recording are kept as FILE.1.old, FILE.2.old and so on. A signal for
one (USR1, USR2, ALRM, VTALRM, PROF, IO) is sent to ctp-record.
--stuck-after reports each place once, and again when twice as many are stuck there; so it does
where coroutines are BUSY, with the thread that they block. What may still change is said to be
LIKELY. With stuck:2s a snapshot is taken whenever stuck coroutines would be reported, 16 at most;
BUSY triggers none.
A DURATION is a number and a unit (ns, us, ms, s, min, h), like 500us or 1.5s.
While stdout goes elsewhere, a line on the terminal says how it goes; -q leaves it out.";

/// Over the options that say which events are kept, and until when.
pub const KEPT: &str = "What is kept";
/// Over those that say how much of it fits.
pub const ROOM: &str = "Room for it";
/// Over those that say what is reported on the terminal.
pub const MESSAGES: &str = "What is said";
/// Over those for programs that cannot be recorded in the usual way.
pub const REACHED: &str = "How the program is reached";
/// Over those that record nothing.
pub const INSTEAD: &str = "Instead of recording a program";

/// Of `--stuck-after`: one line would be too long for a terminal.
pub const STUCK_AFTER: &str = "\
While it runs, report places where coroutines have been stuck,
or have blocked a thread, for this long";

/// Of `--completions`, in two lines too.
pub const COMPLETIONS: &str = "\
Print a completion script for SHELL:
bash, zsh, fish, elvish or powershell";
