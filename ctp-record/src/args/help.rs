//! The texts around the list of options.

/// What to type, first thing.
pub const EXAMPLES: &str = "\
Examples:
  ctp-record -- ./app --port 8080        record, write ctp.data, then: ctp-report --stuck
  ctp-record -o night.ctp -- ./app       write somewhere else
  ctp-record -n 200000 -- ./app          room for 200 000 coroutines
  ctp-record --summary -- ./app          totals instead of history, for days
  ctp-record --flight-recorder=30s -- ./app      the last 30 s, written when it ends
  ctp-record --stuck-after 2s -- ./app   say at once where coroutines are stuck
  ctp-record --inherit-fd -- sudo ./app  hand the memory over by descriptor, not by path
  ctp-record --check-probe -- ./app      does its probe keep to the protocol?
  ctp-record control 1234 snapshot       what a flight recorder has now, while it goes on
  ctp-record control 1234 stop           keep no events of process 1234 for now; then start
  ctp-record --image ram.bin --elf fw.elf   read a memory dump instead of running a program

The program links a probe (ctp-nostd, or any that speaks cTP v1) and attaches by itself. It keeps
its terminal, its signals and its exit status, and is never stopped.";

/// What no option says by itself.
pub const AFTER: &str = "\
Exit status: that of the program (128+n if signal n ended it), 126 or 127 if it cannot be
executed, 1 for an error of the recorder, 2 for wrong usage. With --check-probe: 0, or 3 if a
rule is broken.
Ctrl-C goes to the program; recording goes on until it ends. A second one ends the wait.
Meanwhile `ctp-report --stuck`, in another terminal, tells what is stuck by then.
128 threads of a process have a buffer at a time, or up to 1024 if it is of 1M or less; up to 4096
more have a short one, of 64K at most, as far as all of those need no more room than the others.
A program that locks its memory (mlockall) locks that room too: give it --buffer 64K -n 1000, say.
With --no-bell a thread still calls gettid at its first event, and has no buffer of one that ended
without saying so.
A flight recorder writes nothing while the program runs. It has of each thread what --buffer holds,
and goes back no further than DURATION (500ms, 1.5s, 5min, 1h); SIZE is another word for --buffer.
Of the rest there are exact totals. Snapshots while the program goes on are FILE.1, FILE.2 and so
on; a signal for one (USR1, USR2, ALRM, VTALRM, PROF, IO) is sent to ctp-record.
What is stuck is told of each place once, and again when it has doubled; so is what is BUSY, with
the thread it keeps. A snapshot since stuck:2s is taken once a place, and 16 times at most, and none
of what is BUSY. What may still change is said to be LIKELY.
While stdout goes elsewhere, a line on the terminal says how it goes; -q leaves it out.";
