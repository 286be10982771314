//! What the library promises to a compiler and a linker.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use super::build::{C_COMPILERS, CPP_COMPILERS, Compiler, libraries, package};

/// The standards that a header must be clean in.
fn standards(compilers: &[Compiler], standards: &[&'static str]) -> Vec<Compiler> {
    let all = compilers.iter().flat_map(|compiler| {
        let of_standard = |standard| Compiler {
            standard,
            ..*compiler
        };
        standards.iter().copied().map(of_standard)
    });
    all.collect()
}

#[test]
fn header_is_clean_in_c99_and_cpp17() {
    let c = standards(&C_COMPILERS, &["-std=c99", "-std=c11"]);
    let cpp = standards(&CPP_COMPILERS, &["-std=c++17", "-std=c++20"]);
    for compiler in c.iter().chain(&cpp) {
        let directory = tempdir().expect("room");
        let source = directory.path().join(compiler.file_name());
        let text = "#include <ctp.h>\n#include <ctp.h>\nint main(void) { return ctp_attach(); }\n";
        fs::write(&source, text).expect("room");
        compiler.compile(directory.path(), &source, super::build::Linked::Static);
    }
}

/// Runs a tool, and returns what it prints. `None`, with a visible reason, without the tool.
pub fn output_of(command: &mut Command) -> Option<String> {
    match command.output() {
        Ok(output) => {
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?}: {message}");
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) => {
            eprintln!("SKIPPED: {:?}: {error}", command.get_program());
            None
        }
    }
}

#[test]
fn header_is_what_cbindgen_generates() {
    let mut cbindgen = Command::new("cbindgen");
    cbindgen.current_dir(package());
    cbindgen.args(["--quiet", "--config", "cbindgen.toml"]);
    if let Some(generated) = output_of(&mut cbindgen) {
        let header = fs::read_to_string(package().join("include/ctp.h")).expect("the header");
        assert_eq!(generated, header, "see `cbindgen.toml` for the command");
    }
}

/// What a program has to provide: these functions of C, and two weak symbols of libc.
const NEEDED: [&str; 8] = [
    "abort",
    "bcmp",
    "memcpy",
    "memmove",
    "memset",
    "strlen",
    "environ",
    "getauxval",
];

/// Weak symbols of the start files, which a linker adds to each shared library.
const OF_START_FILES: [&str; 4] = [
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
    "__cxa_finalize",
    "__gmon_start__",
];

#[test]
fn shared_library_has_no_other_symbols() {
    let mut nm = Command::new("nm");
    nm.arg("-D").arg(libraries().join("libctp.so"));
    let Some(symbols) = output_of(&mut nm) else {
        return;
    };
    assert!(symbols.contains("ctp_suspend_at"), "{symbols}");
    for line in symbols.lines() {
        let mut words = line.split_whitespace().rev();
        let (name, kind) = (words.next().expect("a name"), words.next().expect("a kind"));
        let name = name.split('@').next().expect("a name");
        let is_known = match kind {
            "T" => name.starts_with("ctp_"),
            _ => NEEDED.contains(&name) || OF_START_FILES.contains(&name),
        };
        assert!(is_known, "{line}");
    }
}
