//! The installed files, wherever they are moved to.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::tempdir;

use super::build::{package, target};
use super::header::output_of;

/// Installs below `/usr` in this directory, as for a package.
fn install_for_package(stage: &Path) {
    let mut install = Command::new("sh");
    install.arg(package().join("install")).arg("/usr");
    install.env("CARGO_TARGET_DIR", target());
    install.env("DESTDIR", stage).stdout(Stdio::null());
    assert!(install.status().expect("sh runs").success());
}

#[test]
fn library_of_a_package_is_found_where_it_is_moved() {
    let directory = tempdir().expect("room");
    let moved = directory.path().join("moved");
    install_for_package(&directory.path().join("stage"));
    fs::rename(directory.path().join("stage/usr"), &moved).expect("room");
    let mut pkg_config = Command::new("pkg-config");
    pkg_config.args(["--cflags", "--libs", "ctp"]);
    pkg_config.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig"));
    let Some(flags) = output_of(&mut pkg_config) else {
        return;
    };
    let source = directory.path().join("program.c");
    let text = "#include <ctp.h>\nint main(void) { return ctp_attach(); }\n";
    fs::write(&source, text).expect("room");
    let mut compiler = Command::new("cc");
    compiler.arg(&source).args(flags.split_whitespace());
    compiler.arg("-o").arg(directory.path().join("program"));
    output_of(&mut compiler);
}
