//! Shared by tests: mappings of a live process, and compiled test programs.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::{Path, PathBuf};
use std::process::Command;

use symbolize::{Avma, FileOffset, Mapping};

/// The executable mappings in the text of `/proc/<pid>/maps`.
pub fn executable_mappings(maps: &str) -> Vec<Mapping> {
    maps.lines().filter_map(executable_mapping).collect()
}

fn executable_mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let is_executable = fields.next()?.contains('x');
    let file_offset = fields.next()?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    is_executable.then_some(Mapping {
        start: Avma(hex(start)?),
        end: Avma(hex(end)?),
        file_offset: FileOffset(hex(file_offset)?),
        path: path.as_bytes().to_vec(),
        build_id: Vec::new(),
    })
}

fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits.trim_start_matches("0x"), 16).ok()
}

pub fn own_mappings() -> Vec<Mapping> {
    executable_mappings(&std::fs::read_to_string("/proc/self/maps").unwrap())
}

/// A directory for the programs of a test.
pub struct TestDir(tempfile::TempDir);

impl TestDir {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Compiles `tests/programs/<source>`. Returns `None` and prints the reason if the compiler is absent or fails.
    pub fn compile(&self, compiler: &str, source: &str, args: &[&str]) -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(source);
        let program = self.path(&format!(
            "program{}",
            std::fs::read_dir(self.0.path()).unwrap().count()
        ));
        let mut command = Command::new(compiler);
        command.args(args).arg(source).arg("-o").arg(&program);
        match command.output() {
            Err(error) => skip(compiler, &error.to_string()),
            Ok(output) if !output.status.success() => {
                skip(compiler, &String::from_utf8_lossy(&output.stderr))
            }
            Ok(_) => Some(program),
        }
    }
}

fn skip(compiler: &str, reason: &str) -> Option<PathBuf> {
    eprintln!("SKIPPED: {compiler}: {reason}");
    None
}

/// The output of a program in `tests/programs`.
pub struct ProgramOutput {
    pub mappings: Vec<Mapping>,
    functions: Vec<(String, Avma)>,
}

impl ProgramOutput {
    /// Runs a program that prints `function <name> <address>` lines and its mappings.
    pub fn by(program: &Path) -> Self {
        let output = Command::new(program).output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        Self {
            mappings: executable_mappings(&text),
            functions: text
                .lines()
                .filter_map(|line| {
                    let (name, address) = line.strip_prefix("function ")?.split_once(' ')?;
                    Some((name.to_owned(), Avma(hex(address)?)))
                })
                .collect(),
        }
    }

    pub fn address(&self, name: &str) -> Avma {
        let found = self.functions.iter().find(|(known, _)| known == name);
        found
            .unwrap_or_else(|| panic!("the program did not print {name}"))
            .1
    }

    /// Sets the build id that the recorder would have stored for the program.
    pub fn with_build_id(mut self, program: &Path, build_id: &[u8]) -> Self {
        let path = program.to_str().unwrap().as_bytes();
        for mapping in self
            .mappings
            .iter_mut()
            .filter(|mapping| mapping.path == path)
        {
            mapping.build_id = build_id.to_vec();
        }
        self
    }
}

pub fn build_id(program: &Path) -> Vec<u8> {
    use object::Object;
    let bytes = std::fs::read(program).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    object.build_id().unwrap().unwrap_or_default().to_vec()
}
