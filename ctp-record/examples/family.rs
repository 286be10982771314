//! Related processes: `family TRUTH STEP...`. Each step is taken by the process in which the
//! previous step continued:
//!
//! - `work NAME CYCLES MICROSECONDS`: a coroutine runs and suspends that often, and stays
//!   suspended;
//! - `listen NAME MILLISECONDS`: a coroutine waits for a descriptor of this program for that time,
//!   and stays suspended;
//! - `fork`, `clone`: a fork takes the other steps, by libc or by a bare system call; its parent
//!   waits for it;
//! - `spawn`, `vfork`: the same with a new image of this program in a child;
//! - `exec`: a new image continues in this process;
//! - `replace PROGRAM WORD...`: another program, without a probe, continues in this process;
//! - `daemon`: a grandchild continues in its own session, without descriptors and without a waiting
//!   parent;
//! - `close`: closes every descriptor except the standard ones;
//! - `filter`: from now on the kernel kills the process for any socket call;
//! - `nobody`: changes to the user nobody, if root;
//! - `crowd N CYCLES MICROSECONDS`: N forks work at the same time;
//! - `team N CYCLES MICROSECONDS`: N threads work at the same time;
//! - `await FILE`: waits until the file exists;
//! - `tick MILLISECONDS`: from now on a signal comes at this interval;
//! - `scribble`: overwrites all mapped shared memory with random bytes;
//! - `kill`: SIGKILL to itself; `pause`: waits for a signal.
//!
//! TRUTH receives a line for each coroutine: its name, process id, and events.
#![expect(unsafe_code, reason = "forks, and overwrites shared memory")]

use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Barrier;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Wait};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let truth = arguments.next().expect("TRUTH");
    let steps: Vec<String> = arguments.collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    if steps.first() == Some(&"nobody") {
        become_unknown();
    }
    ctp::attach();
    go_on(&truth, &steps);
}

fn go_on(truth: &str, steps: &[&str]) {
    let rest = match *steps {
        [] => return,
        ["work", name, cycles, pause, ref rest @ ..] => {
            work(truth, name, number(cycles), number(pause));
            rest
        }
        ["listen", name, pause, ref rest @ ..] => {
            listen(truth, name, number(pause));
            rest
        }
        ["close", ref rest @ ..] => {
            close_all();
            rest
        }
        ["filter", ref rest @ ..] => {
            filter();
            rest
        }
        ["nobody", ref rest @ ..] => {
            become_unknown();
            rest
        }
        ["crowd", count, cycles, pause, ref rest @ ..] => {
            many(truth, number(count), cycles, pause);
            rest
        }
        ["team", count, cycles, pause, ref rest @ ..] => {
            team(truth, number(count), number(cycles), number(pause));
            rest
        }
        ["await", file, ref rest @ ..] => {
            wait_for_file(Path::new(file));
            rest
        }
        ["tick", milliseconds, ref rest @ ..] => {
            tick(number(milliseconds));
            rest
        }
        ["scribble", ref rest @ ..] => {
            scribble();
            rest
        }
        _ => return go_no_further(truth, steps),
    };
    go_on(truth, rest);
}

/// Steps after which another process or image continues, or none.
fn go_no_further(truth: &str, steps: &[&str]) {
    match *steps {
        ["fork", ref rest @ ..] => in_a_child(fork(), truth, rest),
        ["clone", ref rest @ ..] => in_a_child(raw_clone(), truth, rest),
        ["spawn", ref rest @ ..] => {
            wait_for(again(truth, rest).spawn().expect("starts").id() as i32)
        }
        ["vfork", ref rest @ ..] => vfork(truth, rest),
        ["exec", ref rest @ ..] => panic!("{}", again(truth, rest).exec()),
        ["replace", program, ref words @ ..] => {
            panic!("{}", Command::new(program).args(words).exec())
        }
        ["daemon", ref rest @ ..] => daemonise(truth, rest),
        // SAFETY: a signal to this process.
        ["kill", ..] => drop(unsafe { libc::kill(libc::getpid(), libc::SIGKILL) }),
        // SAFETY: waits.
        ["pause", ..] => drop(unsafe { libc::pause() }),
        _ => panic!("unknown step {steps:?}"),
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

fn work(truth: &str, name: &str, cycles: u64, pause: u64) {
    let task = Task::born(name);
    for cycle in 0..cycles {
        task.run();
        task.suspend(Wait::user(cycle));
        std::thread::sleep(Duration::from_micros(pause));
    }
    record(truth, name, 1 + 2 * cycles);
    std::mem::forget(task);
}

fn listen(truth: &str, name: &str, pause: u64) {
    let ends = UnixStream::pair().expect("a pair can be made");
    let task = Task::born(name);
    task.run();
    task.suspend(Wait::readable(ends.0.as_raw_fd()));
    std::thread::sleep(Duration::from_millis(pause));
    record(truth, name, 3);
    std::mem::forget((task, ends));
}

fn record(truth: &str, name: &str, events: u64) {
    let file = File::options().create(true).append(true).open(truth);
    let line = format!("{name} {} {events}\n", std::process::id());
    file.and_then(|mut file| file.write_all(line.as_bytes()))
        .expect("truth can be written");
}

fn in_a_child(pid: i32, truth: &str, rest: &[&str]) {
    assert!(pid >= 0, "cannot fork");
    if pid == 0 {
        go_on(truth, rest);
        std::process::exit(0);
    }
    wait_for(pid);
}

fn wait_for(pid: i32) {
    // SAFETY: a child of this process, whose status is not needed.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn fork() -> i32 {
    // SAFETY: this program has one thread.
    unsafe { libc::fork() }
}

/// A fork that libc hears nothing of.
fn raw_clone() -> i32 {
    // SAFETY: with SIGCHLD alone it is a fork; this program has one thread.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 }
}

fn again(truth: &str, rest: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("has a path"));
    command.arg(truth).args(rest);
    command
}

/// Shares this process's memory until the child executes another image.
fn vfork(truth: &str, rest: &[&str]) {
    let program = std::env::current_exe().expect("has a path");
    let text = |text: &str| std::ffi::CString::new(text).expect("no zero in it");
    let program = text(program.to_str().expect("is text"));
    let words: Vec<_> = [program.to_str().expect("is text"), truth]
        .into_iter()
        .chain(rest.iter().copied())
        .map(text)
        .collect();
    let mut list: Vec<_> = words.iter().map(|word| word.as_ptr()).collect();
    list.push(std::ptr::null());
    // SAFETY: the child only executes, and changes nothing that the parent goes on with.
    #[expect(deprecated, reason = "it is the subject here")]
    let pid = unsafe {
        match libc::vfork() {
            0 => {
                libc::execv(program.as_ptr(), list.as_ptr());
                libc::_exit(127)
            }
            pid => pid,
        }
    };
    wait_for(pid);
}

fn daemonise(truth: &str, rest: &[&str]) {
    // SAFETY: one thread; the parent of each fork continues or ends at once.
    unsafe {
        if libc::fork() != 0 {
            return;
        }
        libc::setsid();
        if libc::fork() != 0 {
            libc::_exit(0);
        }
        libc::close_range(0, u32::MAX, 0);
    }
    go_on(truth, rest);
    std::process::exit(0);
}

fn many(truth: &str, count: u64, cycles: &str, pause: &str) {
    let names: Vec<String> = (0..count).map(|index| format!("one-{index}")).collect();
    let children: Vec<i32> = names
        .iter()
        .map(|name| {
            let pid = fork();
            if pid == 0 {
                work(truth, name, number(cycles), number(pause));
                std::process::exit(0);
            }
            pid
        })
        .collect();
    children.into_iter().for_each(wait_for);
}

/// Their first births come together.
fn team(truth: &str, count: u64, cycles: u64, pause: u64) {
    let barrier = Barrier::new(count as usize);
    std::thread::scope(|scope| {
        for index in 0..count {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                work(truth, &format!("mate-{index}"), cycles, pause);
            });
        }
    });
}

fn close_all() {
    // SAFETY: only the probe's socket uses these descriptors.
    unsafe { libc::close_range(3, u32::MAX, 0) };
}

fn wait_for_file(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn filter() {
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let if_equal = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let end = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        step(load_number, 0, 0, 0),
        step(if_equal, 3, 0, libc::SYS_sendto as u32),
        step(if_equal, 2, 0, libc::SYS_socket as u32),
        step(if_equal, 1, 0, libc::SYS_connect as u32),
        step(end, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(end, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: a whole program, which the kernel copies.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        )
    };
    assert_eq!(done, 0, "cannot filter");
}

fn become_unknown() {
    // SAFETY: changes this process's user; without permission it stays.
    unsafe { libc::setuid(65534) };
}

/// Blocking calls are interrupted by the signal.
fn tick(milliseconds: u64) {
    extern "C" fn nothing(_: i32) {}
    let pause = libc::timeval {
        tv_sec: 0,
        tv_usec: milliseconds as libc::suseconds_t * 1000,
    };
    let timer = libc::itimerval {
        it_interval: pause,
        it_value: pause,
    };
    // SAFETY: a handler that does nothing, without SA_RESTART, and a timer that is whole.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(i32) as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut());
    }
}

fn scribble() {
    let maps = fs::read_to_string("/proc/self/maps").expect("a list");
    for line in maps.lines().filter(|line| line.contains("memfd:ctp")) {
        let range = line.split(' ').next().expect("a range");
        let (start, end) = range.split_once('-').expect("two ends");
        let [start, end] = [start, end].map(|end| usize::from_str_radix(end, 16).expect("hex"));
        // Only part of it, since writing would allocate untouched pages.
        for at in (start..end.min(start + (1 << 20))).step_by(8) {
            let word = std::ptr::with_exposed_provenance_mut::<u64>(at);
            // SAFETY: mapped and writable. Corrupting the memory is the purpose.
            unsafe { word.write_volatile(0xDEAD_BEEF_DEAD_BEEF ^ at as u64) };
        }
    }
}
