//! The program's side: what the child process does.
#![expect(
    unsafe_code,
    reason = "runs code in a fork, closes what it does not own"
)]

use std::env;
use std::fs::{self, File};
use std::future::Future;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use ctp_nostd::{self as ctp, Task, Traced, TracedExt as _, Wait};

/// The environment variable that says what to do.
pub const ROLE: &str = "CTP_TEST_ROLE";

const ROLES: [(&str, fn()); 13] = [
    ("nothing", || {}),
    ("quiet", be_quiet),
    ("many-tasks", create_many_tasks),
    ("undumpable", create_tasks_undumpable),
    ("ringer", ring),
    ("daemon", close_everything),
    ("fork", fork),
    ("traveller", travel),
    ("traced", be_traced),
    ("fragile", die_of_broken_pipes),
    ("own-file", open_a_file_as_stderr),
    ("closed", close_stdio),
    ("locked", lock_all_memory),
];

/// Runs the program, if this process is the child.
pub fn play() {
    let Ok(role) = env::var(ROLE) else { return };
    println!();
    let (_, play) = ROLES
        .iter()
        .find(|(name, _)| *name == role)
        .expect("a known role");
    play();
}

fn be_quiet() {
    assert!(!ctp::attach());
    let task = Task::born("quiet");
    task.run();
    ctp::waits_for(Wait::unknown());
    task.suspend_announced();
    task.waker().wake();
    assert_eq!((task.id(), ctp::probe().is_none()), (0, true));
}

/// More coroutines than the memory has stations for.
fn create_many_tasks() {
    let attached = ctp::attach();
    assert_eq!(attached, ctp::attach(), "a second call changes nothing");
    let tasks: Vec<Task> = (0..10).map(|_| Task::born("task")).collect();
    for task in &tasks {
        task.run();
        task.suspend(Wait::unknown());
    }
    let recorded = tasks.iter().filter(|task| task.id() != 0).count();
    assert!(attached || recorded == 0);
    println!("recorded={recorded}");
}

/// A process with files in `/proc` that belong to root.
fn create_tasks_undumpable() {
    let not_dumpable = rustix::process::DumpableBehavior::NotDumpable;
    rustix::process::set_dumpable_behavior(not_dumpable).expect("any process may");
    create_many_tasks();
}

/// Like a program in C; Rust ignores SIGPIPE.
fn die_of_broken_pipes() {
    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
    }
    let (pipe, default) = (13, 0);
    // SAFETY: libc's function; the default handler runs no code of the program.
    unsafe { signal(pipe, default) };
    assert!(!ctp::attach());
}

/// Closes stderr, and opens a file that gets the same number.
fn open_a_file_as_stderr() {
    // SAFETY: nothing is printed to stderr here.
    unsafe { rustix::io::close(2) };
    let path = env::var("CTP_TEST_FILE").expect("set by the test");
    let file = File::create(path).expect("the file can be created");
    assert_eq!(file.as_raw_fd(), 2);
    assert!(!ctp::attach());
}

/// Attaches without stdin, stdout and stderr.
fn close_stdio() {
    for fd in 0..3 {
        // SAFETY: nothing is read or printed from here on.
        unsafe { rustix::io::close(fd) };
    }
    let is_attached = ctp::attach();
    std::process::exit(i32::from(
        !is_attached || (0..3).any(|fd| fs::read_link(format!("/proc/self/fd/{fd}")).is_ok()),
    ));
}

/// Locks all future memory, attaches, and reports how much of the shared memory is resident.
fn lock_all_memory() {
    if rustix::mm::mlockall(rustix::mm::MlockAllFlags::FUTURE).is_err() {
        return println!("resident=unknown");
    }
    let shm = env::var("CTP_SHM_PATH").expect("set by the test");
    create_many_tasks();
    let smaps = fs::read_to_string("/proc/self/smaps").expect("readable");
    let (_, of_memory) = smaps.split_once(&shm).expect("the memory is mapped");
    let line = of_memory.lines().find_map(|line| line.strip_prefix("Rss:"));
    println!(
        "resident={}",
        line.expect("a line").trim().trim_end_matches(" kB")
    );
}

/// Like a daemon: closes every descriptor that it did not open, then reuses the numbers.
fn close_everything() {
    assert!(ctp::attach());
    let task = Task::born("daemon");
    let is_open = |fd: &i32| fs::read_link(format!("/proc/self/fd/{fd}")).is_ok();
    for fd in (3..32).filter(is_open) {
        // SAFETY: this test harness keeps no descriptor open; closing the probe's descriptor is the
        // purpose.
        unsafe { rustix::io::close(fd) };
    }
    let pairs: Vec<_> = (0..8)
        .map(|_| UnixStream::pair().expect("two descriptors"))
        .collect();
    let shm = env::var("CTP_SHM_PATH").expect("set by the test");
    let memory = File::options()
        .write(true)
        .open(shm)
        .expect("the file exists");
    memory
        .write_all_at(&1_u32.to_le_bytes(), 0x14)
        .expect("the recorder sleeps");
    task.run();
    for stream in pairs.iter().flat_map(|(first, second)| [first, second]) {
        stream.set_nonblocking(true).expect("a socket");
        let error = (&mut &*stream)
            .read(&mut [0])
            .expect_err("no byte was written");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}

/// Has events under a recorder that sleeps, as often as stdin says.
fn ring() {
    assert!(ctp::attach());
    let task = Task::born("attached");
    println!("attached");
    let mut rounds = String::new();
    io::stdin()
        .read_line(&mut rounds)
        .expect("the test says how often");
    let shm = env::var("CTP_SHM_PATH").expect("set by the test");
    let memory = File::options()
        .write(true)
        .open(shm)
        .expect("attached to this memory");
    let errno = File::open("/nonexistent/at/all").expect_err("there is no such file");
    for _ in 0..rounds.trim().parse().expect("a number") {
        memory
            .write_all_at(&1_u32.to_le_bytes(), 0x14)
            .expect("the memory is written");
        task.run();
    }
    assert_eq!(
        io::Error::last_os_error().raw_os_error(),
        errno.raw_os_error()
    );
}

fn fork() {
    assert!(ctp::attach());
    let task = Task::born("parent");
    let waker = task.waker();
    task.run();
    let task = Arc::new(Mutex::new(task));
    let shared = Arc::clone(&task);
    let in_the_fork = move || {
        let inherited = shared.lock().map_err(|_| io::ErrorKind::Other)?;
        inherited.run();
        inherited.suspend(Wait::unknown());
        waker.wake();
        let own = Task::born("child");
        own.run();
        match (own.id(), ctp::attach(), ctp::probe()) {
            (0, false, None) => Ok(()),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    };
    let mut program = Command::new("true");
    // SAFETY: the probe allocates nothing and takes no lock, and no other thread holds the mutex.
    unsafe { program.pre_exec(in_the_fork) };
    let status = program.status().expect("the fork found itself untraced");
    assert!(status.success());
    task.lock()
        .expect("no thread panicked")
        .suspend(Wait::unknown());
}

fn travel() {
    assert!(ctp::attach());
    let task = Task::born("traveller");
    let hop = |task: Task| {
        task.run();
        task.suspend(Wait::unknown());
        (task, rustix::thread::gettid().as_raw_nonzero())
    };
    let mut tids = vec![rustix::thread::gettid().as_raw_nonzero()];
    let mut task = Some(task);
    for _ in 0..3 {
        let traveller = task.take().expect("the previous thread returned the task");
        let (back, tid) = thread::spawn(move || hop(traveller))
            .join()
            .expect("no panic");
        task = Some(back);
        tids.push(tid);
    }
    println!("tids={tids:?}");
}

/// Waits twice: for a timer, and for something unknown.
struct TwoWaits(u32);

impl Future for TwoWaits {
    type Output = u32;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        self.0 += 1;
        match self.0 {
            1 => ctp::waits_for(Wait::timer_in(Duration::from_secs(9))),
            2 => {}
            polls => return Poll::Ready(polls),
        }
        Poll::Pending
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn be_traced() {
    assert!(ctp::attach());
    let mut whole = pin!(TwoWaits(0).traced());
    assert!(poll(whole.as_mut()).is_pending() && poll(whole.as_mut()).is_pending());
    assert_eq!(
        poll(whole.as_mut()),
        Poll::Ready(3),
        "the output is unchanged"
    );

    let mut panics = pin!(async { panic!("on purpose") }.traced_as("panics"));
    std::panic::set_hook(Box::new(|_| {}));
    catch_unwind(AssertUnwindSafe(|| poll::<Traced<_>>(panics.as_mut())))
        .expect_err("the future panics");
    let _ = std::panic::take_hook();

    let inner = TwoWaits(0).traced_as("inner");
    let mut cancelled = Box::pin(inner.traced_as("outer"));
    assert!(poll(cancelled.as_mut()).is_pending());
    drop(cancelled);
}
