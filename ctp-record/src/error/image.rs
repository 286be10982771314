//! Errors of reading a dump.

use std::fmt;
use std::io;
use std::path::PathBuf;

use ctp_nostd::Refused;

use crate::cli::words::shown;

/// Why a dump cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImageError {
    /// A dump or its program cannot be read.
    Input(PathBuf, io::Error),
    /// A dump holds no memory of a probe.
    NoImage(PathBuf),
    /// A dump holds memory of a probe, but it is damaged.
    BadImage(PathBuf, Refused),
    /// This file is not an ELF file.
    NotElf(PathBuf),
}

impl fmt::Display for ImageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Input(path, error) => {
                write!(out, "cannot read {}: {error}", shown(path))
            }
            ImageError::NoImage(path) => write!(
                out,
                "{} holds no memory of a probe (no cTP magic in it); dump the whole of the static \
                 that ctp_nostd::Memory makes",
                shown(path)
            ),
            ImageError::BadImage(path, refused) => write!(
                out,
                "{} holds memory of a probe, but {refused}; dump the whole of it",
                shown(path)
            ),
            ImageError::NotElf(path) => write!(
                out,
                "{} is not an ELF file; give --elf the program that the dump was taken from",
                shown(path)
            ),
        }
    }
}

impl std::error::Error for ImageError {}
