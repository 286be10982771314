//! A recorder that inspects a running process for `-p`, and its trace, which is deleted at the end.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Seek as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::record::Nanos;
use rustix::process::{Pid, Signal, kill_process};

use super::signals::Signals;

/// A running `ctp-record -p`. Dropping it ends the recorder and deletes the trace.
#[derive(Debug)]
pub struct Recorder {
    child: Child,
    folder: TraceFolder,
    messages: File,
}

/// A private folder, which is deleted when this is dropped.
#[derive(Debug)]
struct TraceFolder(PathBuf);

/// How long the recorder may take to complete its trace. After that, it is killed.
const TIME_TO_END: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
const TRACE: &str = "ctp.data";

impl Recorder {
    /// Starts to inspect a process, each `interval`. The recorder ends after `duration`, or else when this
    /// program ends.
    ///
    /// # Errors
    /// If ctp-record is not found or cannot be started.
    pub fn start(pid: u32, interval: Nanos, duration: Option<Nanos>) -> Result<Self> {
        let folder = TraceFolder::create()?;
        let messages = folder.0.join("messages");
        let messages = File::options()
            .create_new(true)
            .read(true)
            .write(true)
            .open(messages)?;
        let program = program();
        let mut command = Command::new(&program);
        command.args(["--end-with-parent", "-p", &pid.to_string()]);
        command.args(["--every", &nanoseconds(interval)]);
        let duration = duration.unwrap_or(Nanos(MAX_DURATION_NS));
        command.args(["-d", &nanoseconds(duration)]);
        command.arg("-o").arg(folder.0.join(TRACE));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(messages.try_clone()?);
        let child = command
            .spawn()
            .map_err(|error| not_started(&program, &error))?;
        Ok(Recorder {
            child,
            folder,
            messages,
        })
    }

    /// The trace.
    pub fn trace(&self) -> PathBuf {
        self.folder.0.join(TRACE)
    }

    /// Whether the recorder has begun a trace that can be read.
    ///
    /// # Errors
    /// If the recorder has ended with an error, which the result contains.
    pub fn has_started(&mut self) -> Result<bool> {
        if let Some(status) = self.child.try_wait()? {
            self.check(status)?;
            if !self.trace().exists() {
                bail!("ctp-record has ended without a trace");
            }
        }
        Ok(self.trace().exists())
    }

    /// Waits until the recorder has ended, or a signal has arrived.
    ///
    /// # Errors
    /// If the recorder has ended with an error, which the result contains.
    pub fn wait(&mut self, signals: &Signals) -> Result<()> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return self.check(status);
            }
            if !signals.sleep(PAUSE) {
                return Ok(());
            }
        }
    }

    fn check(&mut self, status: ExitStatus) -> Result<()> {
        if status.success() {
            return Ok(());
        }
        let mut printed = String::new();
        self.messages.rewind()?;
        // The messages end the program anyway, so a part of them is enough.
        let _ = (&self.messages)
            .take(MAX_MESSAGE_BYTES)
            .read_to_string(&mut printed);
        let lines = printed
            .lines()
            .map(|line| line.trim_start_matches("ctp-record: "));
        let lines: Vec<&str> = lines
            .filter(|line| !line.starts_with("inspecting"))
            .collect();
        match lines.join("; ") {
            text if text.is_empty() => bail!("ctp-record failed: {status}"),
            text => bail!("{text}"),
        }
    }
}

const MAX_MESSAGE_BYTES: u64 = 4096;
/// About ten years.
const MAX_DURATION_NS: u64 = 10 * 365 * 24 * 3_600 * 1_000_000_000;

impl Drop for Recorder {
    fn drop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), pid) {
            // The recorder may end by itself meanwhile.
            let _ = kill_process(pid, Signal::INT);
        }
        let until = Instant::now() + TIME_TO_END;
        while matches!(self.child.try_wait(), Ok(None)) {
            if until <= Instant::now() {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            thread::sleep(PAUSE);
        }
    }
}

impl TraceFolder {
    fn create() -> Result<Self> {
        let parent = env::temp_dir();
        for number in 0..1000 {
            let folder = parent.join(format!("ctp-top-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(TraceFolder(folder)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context(parent.display().to_string()),
            }
        }
        bail!("{}: too many folders of ctp-report --top", parent.display())
    }
}

impl Drop for TraceFolder {
    fn drop(&mut self) {
        // Files that remain are only a waste of room.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `ctp-record` beside this program, or else the first on the search path.
fn program() -> PathBuf {
    let own = env::current_exe().ok();
    let sibling = own.and_then(|own| Some(own.parent()?.join(NAME)));
    sibling
        .filter(|path| path.is_file())
        .unwrap_or_else(|| PathBuf::from(NAME))
}

const NAME: &str = "ctp-record";

fn not_started(program: &Path, error: &io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        return anyhow!(
            "-p needs ctp-record, which is neither beside ctp-report nor on the search path: install it, or \
             record with it and follow the trace with --top -i FILE"
        );
    }
    let program = OsStr::to_string_lossy(program.as_os_str()).into_owned();
    anyhow!("cannot start {program}: {error}")
}

fn nanoseconds(time: Nanos) -> String {
    format!("{}ns", time.0)
}
