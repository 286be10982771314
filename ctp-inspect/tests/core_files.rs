//! Core files of a program give the stacks that the program printed before it blocked.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use ctp_inspect::stacks::Unwinder;
use ctp_inspect::threads::ThreadState;
use ctp_inspect::{CoreFile, Inspector, Target as _, TraceIds};
use ctp_trace::record::{ProcessId, Record};
use support::{Running, Truth};

const THREADS: usize = 9;

/// The program with all of its threads blocked, and what they printed.
fn start(directory: &Path) -> Option<(Running, Vec<Truth>)> {
    let args = ["--edition=2024", "-Copt-level=3"];
    let program = support::compile(directory, "rustc", "blocked.rs", &args)?;
    let limit = "ulimit -c unlimited; exec \"$0\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", limit])
        .arg(program)
        .current_dir(directory);
    let mut running = Running::start(&mut command);
    let truths: Vec<_> = (0..THREADS)
        .map(|_| Truth::parse(&running.line()))
        .collect();
    for truth in &truths {
        support::blocked(running.pid(), truth.tid);
    }
    Some((running, truths))
}

/// A core file by the kernel, which writes one if it is configured to do that.
fn core_by_kernel(directory: &Path, running: Running) -> Option<PathBuf> {
    let pid = running.pid();
    let status = Command::new("kill")
        .args(["-ABRT", &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
    running.wait();
    let names = ["core".to_owned(), format!("core.{pid}")];
    let core = names
        .iter()
        .map(|name| directory.join(name))
        .find(|core| core.exists());
    if core.is_none() {
        eprintln!("SKIPPED: the kernel writes no core file into the directory of the process");
    }
    core
}

/// Compares the stacks in a core file.
fn compare(core: &CoreFile, truths: &[Truth]) {
    assert_eq!(core.gaps(), [""; 0]);
    let mut unwinder = Unwinder::default();
    for Truth {
        tid,
        way,
        addresses: expected,
    } in truths
    {
        let sample = core.thread(*tid).unwrap();
        let ThreadState::Blocked { registers, .. } = sample.state else {
            panic!("{sample:?}");
        };
        let stack = unwinder.unwind(core, &registers);
        let found: Vec<_> = stack.frames.iter().map(|frame| frame.address).collect();
        assert!(
            found.ends_with(expected),
            "{way}\n{found:x?}\n{expected:x?}"
        );
        assert!(stack.is_whole, "{way} {found:x?}");
    }
    assert_eq!(core.thread_ids().len(), truths.len());
}

#[test]
fn core_by_gdb_has_all_stacks() {
    let directory = tempfile::tempdir().unwrap();
    let Some((running, truths)) = start(directory.path()) else {
        return;
    };
    let Some(path) = support::core_by_gdb(directory.path(), running.pid()) else {
        return;
    };
    let core = CoreFile::open(&path, None).unwrap();
    assert_eq!(core.pid(), running.pid());
    assert_eq!(
        core.exe(),
        directory
            .path()
            .join("program")
            .as_os_str()
            .as_encoded_bytes()
    );
    compare(&core, &truths);
}

#[test]
fn core_by_kernel_has_all_stacks() {
    let directory = tempfile::tempdir().unwrap();
    let Some((running, truths)) = start(directory.path()) else {
        return;
    };
    let Some(path) = core_by_kernel(directory.path(), running) else {
        return;
    };
    compare(&CoreFile::open(&path, None).unwrap(), &truths);
}

#[test]
fn core_without_the_executable_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let Some((running, truths)) = start(directory.path()) else {
        return;
    };
    let Some(path) = support::core_by_gdb(directory.path(), running.pid()) else {
        return;
    };
    drop(running);
    let (old, new) = (
        directory.path().join("program"),
        directory.path().join("moved"),
    );
    std::fs::rename(&old, &new).unwrap();
    std::fs::copy("/bin/sh", &old).unwrap();
    let gaps = CoreFile::open(&path, None).unwrap().gaps();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(
        gaps[0].contains("program is missing, or is not the file"),
        "{gaps:?}"
    );
    let wrong = CoreFile::open(&path, Some(Path::new("/bin/sh"))).unwrap();
    assert_eq!(wrong.gaps().len(), 1, "{:?}", wrong.gaps());
    compare(&CoreFile::open(&path, Some(&new)).unwrap(), &truths);
}

#[test]
fn cut_core_gives_less_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let Some((running, truths)) = start(directory.path()) else {
        return;
    };
    let Some(path) = support::core_by_gdb(directory.path(), running.pid()) else {
        return;
    };
    let bytes = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(bytes / 2).unwrap();
    let core = CoreFile::open(&path, None).unwrap();
    let gaps = core.gaps();
    assert!(gaps[0].starts_with("The core file is cut: "), "{gaps:?}");
    let mut inspector = Inspector::new(Box::new(core), ProcessId(1));
    let records = inspector.inspect(&mut TraceIds::default()).unwrap();
    let is_thread = |record: &&Record| matches!(record, Record::InspectedThread(_));
    // gdb writes the registers at the end, the kernel at the beginning.
    let lacks_registers = gaps.iter().any(|gap| gap.contains("no registers"));
    let expected = if lacks_registers { 0 } else { truths.len() };
    assert_eq!(records.iter().filter(is_thread).count(), expected);
    let Some(Record::InspectionEnd(end)) = records.last() else {
        panic!("{records:?}");
    };
    assert!(gaps.iter().all(|gap| end.gaps.contains(gap)), "{end:?}");
}

/// Renames the note with the mapped files, as if the core file had none.
fn remove_mapped_files(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let note = b"ELIFCORE\0";
    let at = bytes.windows(note.len()).position(|window| window == note);
    bytes[at.unwrap()..][..4].fill(0x7f);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_executable_is_found_without_file_mappings() {
    let directory = tempfile::tempdir().unwrap();
    let Some((running, truths)) = start(directory.path()) else {
        return;
    };
    let Some(path) = support::core_by_gdb(directory.path(), running.pid()) else {
        return;
    };
    remove_mapped_files(&path);
    let program = directory.path().join("program");
    let core = CoreFile::open(&path, Some(&program)).unwrap();
    let gaps = core.gaps();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(
        gaps[0].ends_with("nothing is known of libraries."),
        "{gaps:?}"
    );
    assert_eq!(core.exe(), program.as_os_str().as_encoded_bytes());
    let modules = core.modules(ProcessId(1));
    // The outermost functions of threads are in the C library.
    let own = truths
        .iter()
        .flat_map(|truth| truth.addresses.iter().take(2));
    for address in own {
        let module = modules
            .iter()
            .find(|module| (module.start..module.end).contains(address))
            .unwrap();
        assert_eq!(module.path, core.exe());
        assert!(!module.build_id.is_empty());
        assert!(core.mapping_at(*address).unwrap().is_executable);
    }
    drop(running);
    for (elf, why) in [
        (Some("/bin/sh"), "and /bin/sh does not fit it."),
        (Some("/etc/passwd"), "and /etc/passwd does not fit it."),
        (None, "the executable must be given to find tasks."),
    ] {
        let core = CoreFile::open(&path, elf.map(Path::new)).unwrap();
        let gaps = core.gaps();
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert!(gaps[0].ends_with(why), "{gaps:?}");
        assert!(core.exe().is_empty());
        let modules = core.modules(ProcessId(1)).into_iter();
        assert!(
            modules
                .map(|module| module.path)
                .all(|path| path == b"[vdso]")
        );
    }
}

#[test]
fn other_files_are_not_core_files() {
    for path in ["/proc/self/exe", "/etc/passwd", "/dev/null", "/nonexistent"] {
        assert!(CoreFile::open(Path::new(path), None).is_err(), "{path}");
    }
}
