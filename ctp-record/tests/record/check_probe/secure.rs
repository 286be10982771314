//! The probe on the page in a set-user-id program.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::page::{self, compile};
use crate::lab::Lab;

const STATIONS: usize = 4;

/// A memory of plain cTP v1, not yet used.
fn memory() -> Vec<u8> {
    let header = [0x434F_524F_5452_4352_u64, (STATIONS as u64) << 32 | 1];
    let mut bytes = header.map(u64::to_le_bytes).concat();
    bytes.resize((1 + STATIONS) * 1024, 0);
    bytes
}

fn allow(path: &Path, mode: u32) {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).expect("it is our own");
}

// CTP-03
#[test]
fn set_user_id_copy_of_the_page_probe_ignores_ctp() {
    let lab = Lab::new();
    let mount = rustix::fs::statvfs(lab.path("")).expect("present");
    let is_nosuid = mount.f_flag.contains(rustix::fs::StatVfsMountFlags::NOSUID);
    if !rustix::process::geteuid().is_root() || is_nosuid {
        return eprintln!("SKIPPED: not root, or set-user-id has no effect here");
    }
    let Some(program) = compile(&lab, &page::plain()) else {
        return;
    };
    let path = lab.path("memory");
    fs::write(&path, memory()).expect("there is room");
    allow(&lab.path(""), 0o755);
    allow(&path, 0o666);
    chown(&program, Some(61_001), None).expect("root may");
    let is_changed = |mode| {
        allow(&program, mode);
        let mut command = lab.command(&program);
        command.uid(61_002).env("CTP_SHM_PATH", &path);
        let outcome = lab.run(command.env("CTP_MAX_STATIONS", STATIONS.to_string()));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        fs::read(&path).expect("present") != memory()
    };
    assert_eq!([0o4755, 0o755].map(is_changed), [false, true]);
}
