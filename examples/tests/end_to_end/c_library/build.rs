//! The library for C, and programs that are compiled with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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

/// Where Cargo builds the package.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("ctp-c")
}

/// Builds the package, and installs it below this directory.
pub fn install(prefix: &Path) {
    let mut install = Command::new("sh");
    install.arg(package().join("install")).arg(prefix);
    install.env("CARGO_TARGET_DIR", target());
    install.stdout(Stdio::null());
    assert!(install.status().expect("sh runs").success());
}

/// The directory with the libraries, installed once.
pub fn libraries() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let prefix = target().join("prefix");
        install(&prefix);
        prefix.join("lib")
    })
}

impl Compiler {
    /// Compiles a program. `None`, with a visible reason, without this compiler or this standard.
    pub fn compile(&self, directory: &Path, source: &Path, linked: Linked) -> Option<PathBuf> {
        self.is_able(directory)
            .then(|| self.link(directory, source, linked, &["-o", "program"]))
    }

    /// Compiles a program that also needs this library, with a compiler that is able to.
    pub fn compile_with(&self, directory: &Path, source: &Path, library: &str) -> PathBuf {
        let flags = ["-Wl,--no-as-needed", library, "-o", "program"];
        self.link(directory, source, Linked::Static, &flags)
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
        self.accepts(
            directory,
            match self.standard {
                "-std=c++20" => "#include <coroutine>\nstd::suspend_always able;\n",
                _ => "int able;\n",
            },
        )
    }

    /// Whether this compiler is here and compiles this text. If not, says so.
    pub fn accepts(&self, directory: &Path, text: &str) -> bool {
        let source = directory.join(format!("able-{}", self.file_name()));
        fs::write(&source, text).expect("room");
        let mut command = self.command(directory);
        let compiled = command.arg("-fsyntax-only").arg(&source).output();
        let is_able = matches!(&compiled, Ok(output) if output.status.success());
        if !is_able {
            eprintln!("SKIPPED: {self:?} cannot compile {text:?}: {compiled:?}");
        }
        is_able
    }

    /// With the headers and libraries of the Boost in `CTP_BOOST`, before those of the system.
    fn command(&self, directory: &Path) -> Command {
        let mut command = Command::new(self.command);
        command.current_dir(directory);
        command.args([self.standard, self.level, "-g"]);
        if let Some(prefix) = std::env::var_os("CTP_BOOST") {
            let prefix = Path::new(&prefix);
            command.arg("-isystem").arg(prefix.join("include"));
            let libraries = prefix.join("lib");
            command.arg("-L").arg(&libraries);
            command.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
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
