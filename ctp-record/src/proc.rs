//! What the kernel reports about processes, descriptors, sockets and the machine. Only this module reads `/proc`.
//!
//! Files are read line by line, for the few fields that are needed. A general library parses whole files, some of
//! which take the kernel long to produce, and refuses files with an unknown field.

pub mod attach_request;
pub mod command_line;
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
pub mod threads;
pub mod time_namespace;
pub mod unix_sockets;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let files = |path: PathBuf| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![path]
            }
        };
        entries.flat_map(|entry| files(entry.path())).collect()
    }

    /// This file builds a path that programs open, and does not read from the path.
    const ADDRESSES: &str = "memory/shm.rs";

    #[test]
    fn proc_is_read_in_this_module_only() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let elsewhere = |path: &PathBuf| {
            let is_here = path.starts_with(root.join("proc")) || path.ends_with("src/proc.rs");
            !is_here && !path.ends_with(ADDRESSES)
        };
        for path in sources(&root).into_iter().filter(elsewhere) {
            let text = fs::read_to_string(&path).expect("a text file");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let mut lines = code
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"));
            let reading = lines.find(|line| line.contains("\"/proc"));
            assert_eq!(reading, None, "{}", path.display());
        }
    }
}
