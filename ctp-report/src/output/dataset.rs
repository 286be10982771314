//! A folder with many exported traces. Each trace has a folder of its own, named as Hive names
//! partitions: `host=HOST/trace=ID`.
//!
//! A trace is written into a temporary folder, which is renamed once it is complete. So an export that is
//! interrupted leaves no half of a trace under a name that readers use, and several exports may write into
//! the same dataset. If two of them write the same trace, the second to finish fails.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::output::directory_of;
use ctp_trace::record::Start;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::text::units;

/// The host of the recording, as datasets and databases name it.
pub fn host(start: &Start) -> &str {
    match start.host.as_str() {
        "" => "unknown",
        host => host,
    }
}

/// Begins the name of a partition by host.
const HOST: &str = "host=";
/// Begins the name of a temporary folder. Readers of datasets skip hidden folders.
const TEMPORARY: &str = ".ctp-export-";
/// The permissions of new folders, of which the umask takes some.
const FOLDER: Mode = Mode::from_bits_retain(0o777);

/// A temporary folder for the files of a trace.
pub struct Folder {
    directory: OwnedFd,
}

/// The dataset, held open so that nothing can replace it.
struct Dataset<'p> {
    path: &'p Path,
    directory: OwnedFd,
    /// Whether this export created the folder.
    is_new: bool,
}

/// Writes a trace into the dataset at this path, which is created if necessary. `fill` gets the folder for
/// the files. Returns the path of the trace's folder.
///
/// # Errors
/// If the path is something else than a dataset, the dataset has the trace already, or `fill` fails.
pub fn write(
    path: &Path,
    start: &Start,
    fill: impl FnOnce(&Folder) -> Result<()>,
) -> Result<PathBuf> {
    let dataset = Dataset::open(path)?;
    let (host, trace) = partition(start);
    let target = Path::new(&host).join(&trace);
    dataset.check_missing(&target)?;
    let (name, folder) = dataset.temporary()?;
    let written = fill(&folder)
        .with_context(|| format!("cannot write {}: name another folder", path.display()))
        .and_then(|()| dataset.publish(&name, &host, &target));
    if written.is_err() {
        // The first error is reported; a second error has the same cause.
        let _ = dataset.discard(&name, &folder);
    }
    written.map(|()| path.join(target))
}

/// The names of the trace's two folders.
fn partition(start: &Start) -> (String, String) {
    let host = encoded(host(start));
    let trace = units::hex(&start.trace_id);
    (format!("{HOST}{host}"), format!("trace={trace}"))
}

/// Encodes a value as Hive does: `%` and two digits replace what may not be in the name of a folder. At most
/// 64 bytes are kept, as many as a kernel allows.
fn encoded(value: &str) -> String {
    let mut name = String::new();
    for byte in value.bytes().take(64) {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            name.push(byte.into());
        } else {
            name += &format!("%{byte:02X}");
        }
    }
    name
}

impl Folder {
    /// Creates a file.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::from_bits_retain(0o666))?;
        Ok(file.into())
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl<'p> Dataset<'p> {
    /// Opens or creates a dataset.
    fn open(path: &'p Path) -> Result<Self> {
        let shown = path.display();
        let created = fs::create_dir(path);
        let is_new = created.is_ok();
        if let Err(error) = created
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error)
                .with_context(|| format!("cannot create {shown}: name another folder"));
        }
        // Finds the folder above this name, without links and folders that another user planted.
        let opened = directory_of(&path.join("traces"))
            .and_then(|directory| Ok(openat(directory, ".", DIRECTORY, Mode::empty())?));
        let directory = opened.with_context(|| format!("cannot write {shown}: name a folder"))?;
        let dataset = Dataset {
            path,
            directory,
            is_new,
        };
        dataset.check_kind()?;
        Ok(dataset)
    }

    /// Refuses a folder that has something else than traces.
    fn check_kind(&self) -> Result<()> {
        let mut is_empty = true;
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                name if name.starts_with(TEMPORARY.as_bytes()) => {}
                name if name.starts_with(HOST.as_bytes()) => return Ok(()),
                _ => is_empty = false,
            }
        }
        if is_empty {
            return Ok(());
        }
        bail!(
            "{} has other files: name an empty folder, a new folder, or a folder with exported traces",
            self.path.display()
        )
    }

    fn check_missing(&self, target: &Path) -> Result<()> {
        match openat(&self.directory, target, OFlags::PATH, Mode::empty()) {
            Ok(_) => Err(self.existing_trace_error(target)),
            Err(_) => Ok(()),
        }
    }

    fn existing_trace_error(&self, target: &Path) -> anyhow::Error {
        anyhow!(
            "the trace is in {} already: to replace it, remove that folder first, or name another",
            self.path.join(target).display()
        )
    }

    /// Creates a folder that no other export has.
    fn temporary(&self) -> Result<(String, Folder)> {
        let cannot_write = || format!("cannot write {}: name another folder", self.path.display());
        let process = std::process::id();
        for number in 0..1000 {
            let name = format!("{TEMPORARY}{process}-{number}");
            match mkdirat(&self.directory, &name, FOLDER) {
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error).with_context(cannot_write),
                Ok(()) => {
                    let directory = openat(&self.directory, &name, DIRECTORY, Mode::empty())
                        .with_context(cannot_write)?;
                    return Ok((name, Folder { directory }));
                }
            }
        }
        bail!(
            "{} has too many folders {TEMPORARY}* of interrupted exports: remove them",
            self.path.display()
        )
    }

    /// Gives the temporary folder its final name.
    fn publish(&self, temporary: &str, host: &str, target: &Path) -> Result<()> {
        match mkdirat(&self.directory, host, FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => Err(error).with_context(|| self.path.display().to_string())?,
        }
        match renameat(&self.directory, temporary, &self.directory, target) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST | Errno::NOTEMPTY) => Err(self.existing_trace_error(target)),
            Err(error) => Err(error).with_context(|| self.path.join(target).display().to_string()),
        }
    }

    /// Removes the temporary folder, and the dataset if it is new and empty.
    fn discard(&self, temporary: &str, folder: &Folder) -> io::Result<()> {
        for entry in Dir::read_from(&folder.directory)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                unlinkat(&folder.directory, entry.file_name(), AtFlags::empty())?;
            }
        }
        unlinkat(&self.directory, temporary, AtFlags::REMOVEDIR)?;
        if self.is_new {
            fs::remove_dir(self.path)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_stay_inside_the_dataset() {
        for (host, name) in [
            ("devbox.example-1", "host=devbox.example-1"),
            ("../../etc", "host=..%2F..%2Fetc"),
            ("a=b c\n\u{e9}", "host=a%3Db%20c%0A%C3%A9"),
            ("", "host=unknown"),
        ] {
            let start = Start {
                host: host.to_owned(),
                ..Start::default()
            };
            assert_eq!(partition(&start).0, name);
        }
    }
}
