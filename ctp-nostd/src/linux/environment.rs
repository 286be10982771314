//! The recorder's environment variables, read without std and without an allocator.
#![allow(unsafe_code, reason = "libc's list of C strings")]

use core::ffi::{CStr, c_char};
use core::mem;

use heapless::Vec;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::read;

use super::auxv::{self, AT_SECURE};
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::weak_symbol::load_weak;

/// Longest accepted value: a path.
type Value = Vec<u8, 1024>;

/// The three variables of cTP v1, as found.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// File to map.
    pub shm_path: Option<Value>,
    /// Socket of the doorbell.
    pub sock_path: Option<Value>,
    /// Largest number of stations to use.
    pub max_stations: Option<Value>,
}

/// Whether the user who set the environment lacks rights that the program has. Then the environment
/// must not decide which file the program maps. If this cannot be determined, the answer is yes.
pub(super) fn is_untrusted() -> bool {
    auxv::value(AT_SECURE) != Some(0)
}

impl Settings {
    /// Reads libc's `environ`, or (without a libc, or after `clearenv`) the kernel's copy of the
    /// initial environment.
    pub fn read() -> Self {
        let mut settings = Settings::default();
        let entry = environ();
        if entry.is_null() {
            settings.read_initial();
        } else {
            settings.read_list(entry);
        }
        settings
    }

    /// Whether any variable of a recorder is set.
    pub fn is_any_set(&self) -> bool {
        self.shm_path.is_some() || self.sock_path.is_some() || self.max_stations.is_some()
    }

    fn take(&mut self, entry: &[u8]) {
        let Some(equals) = entry.iter().position(|&byte| byte == b'=') else {
            return;
        };
        let value = &entry[equals + 1..];
        match &entry[..equals] {
            b"CTP_SHM_PATH" => self.shm_path = Vec::from_slice(value).ok(),
            b"CTP_SOCK_PATH" => self.sock_path = Vec::from_slice(value).ok(),
            b"CTP_MAX_STATIONS" => self.max_stations = Vec::from_slice(value).ok(),
            _ => {}
        }
    }

    fn read_list(&mut self, mut entry: *const *const c_char) {
        loop {
            // SAFETY: `environ` is an array of C strings that ends with a null pointer. It is read
            // once, at attach, which must happen before other threads can change it.
            let text = unsafe {
                if (*entry).is_null() {
                    return;
                }
                CStr::from_ptr(*entry)
            };
            self.take(text.to_bytes());
            entry = entry.wrapping_add(1);
        }
    }

    /// Reads `/proc/self/environ` in pieces.
    fn read_initial(&mut self) {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let Ok(file) = openat(CWD, c"/proc/self/environ", flags, Mode::empty()) else {
            return;
        };
        let mut entry = Entry::default();
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = read(&file, &mut piece) {
            self.take_piece(&piece[..length], &mut entry);
        }
    }

    /// Takes the entries that end in this piece. `entry` is the entry that the pieces before have begun.
    fn take_piece(&mut self, piece: &[u8], entry: &mut Entry) {
        for &byte in piece {
            if byte != 0 {
                entry.push(byte);
                continue;
            }
            let ended = mem::take(entry);
            if !ended.is_too_long {
                self.take(&ended.text);
            }
        }
    }
}

/// An entry of the environment that is being read.
#[derive(Default)]
struct Entry {
    text: Vec<u8, 1088>,
    /// The entry has no accepted value. Its rest must not be taken for another entry.
    is_too_long: bool,
}

impl Entry {
    fn push(&mut self, byte: u8) {
        self.is_too_long |= self.text.push(byte).is_err();
    }
}

/// libc's `environ`, or null where there is none.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn environ() -> *const *const c_char {
    let variable: *const *const *const c_char;
    // SAFETY: loads one address from the global offset table, which is there in every program.
    unsafe { load_weak!("environ", variable) };
    if variable.is_null() {
        return core::ptr::null();
    }
    // SAFETY: not null, so it is libc's variable, which always holds a valid pointer or null.
    unsafe { *variable }
}

/// Other targets use the kernel's copy.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn environ() -> *const *const c_char {
    core::ptr::null()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_a_long_entry_is_no_entry() {
        let mut environment = [b'x'; 1088].to_vec();
        environment.extend(b"CTP_SHM_PATH=/wrong\0CTP_SOCK_PATH=/right\0");
        let (mut settings, mut entry) = (Settings::default(), Entry::default());
        for piece in environment.chunks(100) {
            settings.take_piece(piece, &mut entry);
        }
        assert_eq!(settings.shm_path, None);
        assert_eq!(settings.sock_path.as_deref(), Some(&b"/right"[..]));
    }
}
