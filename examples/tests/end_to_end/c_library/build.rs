//! The library for C, and programs that are compiled with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::support::record_built;

/// A compiler, the standard of the language, and the level of optimization.
#[derive(Clone, Copy, Debug)]
pub struct Compiler {
    pub command: &'static str,
    pub standard: &'static str,
    pub level: &'static str,
}

/// The compilers of C.
pub const C_COMPILERS: [Compiler; 2] = [
    Compiler {
        command: "gcc",
        standard: "-std=c99",
        level: "-O2",
    },
    Compiler {
        command: "clang",
        standard: "-std=c99",
        level: "-O0",
    },
];

/// The compilers of C++ with coroutines.
pub const CPP_COMPILERS: [Compiler; 4] = [
    cpp("g++", "-O0"),
    cpp("g++", "-O2"),
    cpp("clang++", "-O0"),
    cpp("clang++", "-O2"),
];

const fn cpp(command: &'static str, level: &'static str) -> Compiler {
    Compiler {
        command,
        standard: "-std=c++20",
        level,
    }
}

/// Every warning of a careful user is an error. The programs call functions of POSIX.
pub const WARNINGS: [&str; 6] = [
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-D_GNU_SOURCE",
    "-pthread",
];

/// How a program finds the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    Static,
    Shared,
}

/// The package `ctp-c`.
pub fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ctp-c")
}

/// The directory with the libraries, built once.
pub fn libraries() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ctp-c");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--release", "--locked"]);
        cargo
            .arg("--manifest-path")
            .arg(package().join("Cargo.toml"));
        cargo.arg("--target-dir").arg(&target);
        assert!(cargo.status().expect("cargo runs").success());
        target.join("release")
    })
}

impl Compiler {
    /// Compiles a program. `None`, with a visible reason, without this compiler or this standard.
    pub fn compile(&self, directory: &Path, source: &Path, linked: Linked) -> Option<PathBuf> {
        self.is_able(directory)
            .then(|| self.link(directory, source, linked, &["-o", "program"]))
    }

    /// Compiles a plugin, with this compiler that has compiled a program.
    pub fn compile_plugin(&self, directory: &Path, source: &Path, linked: Linked) -> PathBuf {
        let flags = ["-DPLUGIN", "-fPIC", "-shared", "-o", "plugin.so"];
        self.link(directory, source, linked, &flags)
    }

    /// The last of the flags is the name of the output.
    fn link(&self, directory: &Path, source: &Path, linked: Linked, flags: &[&str]) -> PathBuf {
        let mut command = self.command(directory);
        command.args(WARNINGS).args(flags).arg(source);
        command.arg("-I").arg(package().join("include"));
        match linked {
            Linked::Static => command.arg(libraries().join("libctp.a")),
            Linked::Shared => command
                .arg(libraries().join("libctp.so"))
                .arg(format!("-Wl,-rpath,{}", libraries().display())),
        };
        let compiled = command.output().expect("the compiler runs");
        let message = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{self:?}: {message}");
        directory.join(flags.last().expect("a name"))
    }

    /// A name for a source file of this language.
    pub fn file_name(&self) -> &'static str {
        if self.standard.contains("++") {
            "source.cpp"
        } else {
            "source.c"
        }
    }

    /// Whether this machine has this compiler, with the headers of this standard.
    pub fn is_able(&self, directory: &Path) -> bool {
        let source = directory
            .join("able")
            .with_file_name(format!("able-{}", self.file_name()));
        let text = match self.standard {
            "-std=c++20" => "#include <coroutine>\nstd::suspend_always able;\n",
            _ => "int able;\n",
        };
        fs::write(&source, text).expect("room");
        let mut command = self.command(directory);
        let compiled = command.arg("-fsyntax-only").arg(&source).output();
        let is_able = matches!(&compiled, Ok(output) if output.status.success());
        if !is_able {
            eprintln!("SKIPPED: {self:?} is not here: {compiled:?}");
        }
        is_able
    }

    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(self.command);
        command.current_dir(directory);
        command.args([self.standard, self.level, "-g"]);
        command
    }
}

/// Records a program, and returns the lines that it printed.
pub fn lines_of_recorded(directory: &Path, program: &Path, arguments: &[&str]) -> Vec<String> {
    let recorded: Output = record_built(&[], directory, program, arguments);
    let message = String::from_utf8_lossy(&recorded.stderr);
    assert!(recorded.status.success(), "{message}");
    let text = String::from_utf8_lossy(&recorded.stdout);
    text.lines().map(str::to_owned).collect()
}
