//! What the kernel tells of processes, descriptors, sockets and the machine: the only place that reads
//! `/proc`.
//!
//! Files are read line by line, by the few names that are needed. A general library parses whole files, of
//! which some take the kernel long to write, and refuses those in which a field is unknown.

pub mod descriptor;
pub mod descriptor_tables;
pub mod environment;
pub mod epoll;
pub mod file_id;
pub mod maps;
pub mod namespace;
pub mod process;
pub mod processes;
pub mod sockets;
pub mod system;
pub mod time_namespace;
pub mod unix_sockets;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).expect("is there").flatten();
        let of = |path: PathBuf| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        };
        entries.flat_map(|entry| of(entry.path())).collect()
    }

    /// The path that a program gets to open its memory is no reading.
    const ADDRESSES: &str = "memory/shm.rs";

    #[test]
    fn proc_is_read_in_this_module_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let elsewhere = |path: &PathBuf| {
            let is_here = path.starts_with(root.join("proc")) || path.ends_with("src/proc.rs");
            !is_here && !path.ends_with(ADDRESSES)
        };
        for path in sources(&root).into_iter().filter(elsewhere) {
            let text = fs::read_to_string(&path).expect("is text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let mut lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let reading = lines.find(|line| line.contains("\"/proc"));
            assert_eq!(reading, None, "{}", path.display());
        }
    }
}
