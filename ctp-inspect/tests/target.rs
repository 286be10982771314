//! Opening and reading processes.

use std::process::{Child, Command, Stdio};

use ctp_inspect::{Denial, ProcessTarget, Target as _, TargetError};

/// A process that sleeps until it is killed.
struct Sleeper(Child);

impl Sleeper {
    fn start(command: &mut Command) -> Option<Self> {
        let child = command.stdout(Stdio::null()).spawn().ok()?;
        Some(Sleeper(child))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn own_memory_is_read_unchanged() {
    let words = [0x1234_5678_9abc_def0_u64, 7];
    let target = match ProcessTarget::open(std::process::id()) {
        Ok(target) => target,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let address = &raw const words as u64;
    assert_eq!(target.word(address), Some(words[0]));
    let mut read = [0; 2];
    assert!(target.words(address, &mut read));
    assert_eq!(read, words);
    let mapping = target.mapping_at(address).expect("the stack is mapped");
    assert!(mapping.is_readable && mapping.is_writable);
    assert_eq!(target.word(0), None);
    assert_eq!(target.word(u64::MAX - 3), None);
    let exe = std::env::current_exe().expect("own path");
    assert_eq!(target.exe(), exe.as_os_str().as_encoded_bytes());
}

/// Memory that was reserved and never used is not read.
#[test]
fn only_used_pages_are_populated() {
    const BYTES: u64 = 64 << 20;
    const USED: u64 = 1 << 16;
    let mut reserved: Vec<u8> = Vec::with_capacity(BYTES as usize);
    let start = reserved.as_ptr() as u64;
    reserved.resize(USED as usize, 1);
    let target = match ProcessTarget::open(std::process::id()) {
        Ok(target) => target,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let populated = target.populated(start..start + BYTES);
    let whole = start..start + BYTES;
    if populated == std::slice::from_ref(&whole) {
        return eprintln!("SKIPPED: the kernel has no page map");
    }
    let bytes: u64 = populated.iter().map(|range| range.end - range.start).sum();
    assert!((USED..BYTES / 2).contains(&bytes), "{populated:x?}");
    let is_used = |at| populated.iter().any(|range| range.contains(&at));
    assert!(is_used(start) && is_used(start + USED - 1));
}

#[test]
fn exited_process_is_not_found() {
    let mut sleeper = Sleeper::start(Command::new("sleep").arg("60")).expect("sleep starts");
    let pid = sleeper.0.id();
    let mut target = match ProcessTarget::open(pid) {
        Ok(target) => target,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    sleeper.0.kill().expect("the process can be killed");
    while target.refresh().is_ok() {
        std::thread::yield_now(); // Until the kernel has taken its memory apart.
    }
    assert!(matches!(ProcessTarget::open(pid), Err(TargetError::Ended)));
    sleeper.0.wait().expect("the process has exited");
    assert!(matches!(ProcessTarget::open(pid), Err(TargetError::Ended)));
    assert_eq!(target.word(target.mappings()[0].start), None);
}

#[test]
fn thread_id_names_its_process() {
    let own = std::process::id();
    let tid = std::thread::spawn(|| {
        let link = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
        let name = link.file_name().expect("a number").to_string_lossy();
        let tid: u32 = name.parse().expect("a number");
        (tid, ProcessTarget::open(tid).map(|_| ()))
    });
    let (tid, opened) = tid.join().expect("the thread does not panic");
    assert_ne!(tid, own);
    assert!(matches!(opened, Err(TargetError::Thread(process)) if process == own));
}

#[test]
fn programs_of_32_bits_are_refused() {
    let directory = tempfile::tempdir().expect("room");
    let source = directory.path().join("sleeper.rs");
    std::fs::write(&source, "fn main() { std::thread::park() }").expect("room");
    let program = directory.path().join("sleeper");
    let mut rustc = Command::new("rustc");
    rustc.args(["--target", "i686-unknown-linux-musl"]);
    let compiled = rustc.arg(&source).arg("-o").arg(&program).output();
    if !compiled
        .as_ref()
        .is_ok_and(|output| output.status.success())
    {
        return eprintln!("SKIPPED: no 32-bit program: {compiled:?}");
    }
    let Some(sleeper) = Sleeper::start(&mut Command::new(program)) else {
        return eprintln!("SKIPPED: the kernel runs no 32-bit programs");
    };
    let opened = ProcessTarget::open(sleeper.0.id());
    assert!(matches!(opened, Err(TargetError::Narrow)), "{opened:?}");
}

#[test]
fn another_users_process_is_denied_by_name() {
    if !rustix::process::geteuid().is_root() {
        return match ProcessTarget::open(1) {
            Err(TargetError::Denied(Denial::OtherUser(0))) => {}
            other => eprintln!("SKIPPED: process 1 gives {other:?}"),
        };
    }
    // As root every process may be read, so a copy of this test runs as another user.
    let exe = std::env::current_exe().expect("own path");
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
        .arg(exe)
        .args(["another_users_process_is_denied_by_name", "--exact"]);
    match command.output() {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.status.code() == Some(127) || output.status.code() == Some(126) => {
            eprintln!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => eprintln!("SKIPPED: no setpriv: {error}"),
    }
}
