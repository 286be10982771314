//! An ELF file that is read in parts: only the needed parts, each once, and within the budget.
//!
//! The parts are read into memory rather than mapped. If another process truncates a mapped file,
//! SIGBUS ends this process; `pread` of a truncated file returns fewer bytes, which is an error.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elsa::FrozenVec;
use object::read::ReadRef;

use crate::file::budget::{Budget, Charge};
use crate::file::checksums::NoChecksum;
use crate::file::identity::Identity;
use crate::file::parts::{Part, PartKey};
use crate::file::regular::open_regular;

/// A file that can be opened again to read more, if the path still leads to the same file.
#[derive(Clone, Debug)]
pub(crate) struct ImageFile {
    pub(crate) path: PathBuf,
    identity: Identity,
    budget: Arc<Budget>,
}

/// Larger files are not opened. Programs are far smaller, debug info included. `/proc/kcore` starts like an ELF file,
/// and its stated size is that of all memory.
const MAX_FILE_BYTES: u64 = 16 << 30;
/// How much may be read before the file is known to be the wanted file: the headers and the notes.
const MAX_HEADER_BYTES: u64 = 4 << 20;

/// The parts of a file that were read so far.
pub(crate) struct Image {
    parts: FrozenVec<Arc<Part>>,
    /// The longest part at each offset: its length, and its index in `parts`.
    known: RefCell<BTreeMap<u64, (u64, usize)>>,
    /// `None` once the file is closed.
    file: RefCell<Option<File>>,
    length: u64,
    /// How many bytes may still be read. `None` once the file is trusted, because this limit no longer applies.
    header_bytes_left: RefCell<Option<u64>>,
    account: Account,
    /// Whether a requested part did not fit into the budget.
    is_short: Cell<bool>,
}

/// What is charged for a file. The file is listed as refused when a part does not fit.
pub(crate) struct Account {
    charge: RefCell<Charge>,
    image_file: ImageFile,
}

impl Account {
    /// Takes memory from the budget; false if not enough is left.
    #[must_use]
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let is_taken = self.charge.borrow_mut().take(bytes);
        if !is_taken {
            self.image_file.refuse();
        }
        is_taken
    }

    /// Notes that the file was not read, or only in part.
    pub(crate) fn refuse(&self) {
        self.image_file.refuse();
    }
}

impl Image {
    /// Opens an unknown file. Only `MAX_HEADER_BYTES` can be read before [`trust`](Self::trust).
    pub(crate) fn open(path: &Path, budget: &Arc<Budget>) -> io::Result<Self> {
        let file = open_regular(path)?;
        let metadata = file.metadata()?;
        if MAX_FILE_BYTES < metadata.len() {
            let too_large = "too large";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, too_large));
        }
        let image_file = ImageFile {
            path: path.to_owned(),
            identity: Identity::of(&metadata),
            budget: Arc::clone(budget),
        };
        Ok(Self::new(file, image_file, Some(MAX_HEADER_BYTES)))
    }

    fn new(file: File, image_file: ImageFile, header_bytes_left: Option<u64>) -> Self {
        Self {
            parts: FrozenVec::new(),
            known: RefCell::default(),
            file: RefCell::new(Some(file)),
            length: image_file.identity.bytes,
            header_bytes_left: RefCell::new(header_bytes_left),
            is_short: Cell::new(false),
            account: image_file.account(),
        }
    }

    /// Lifts the limit on reads; the budget still applies.
    pub(crate) fn trust(&self) {
        self.header_bytes_left.replace(None);
    }

    /// The file, to open it again later.
    pub(crate) fn file(&self) -> &ImageFile {
        &self.account.image_file
    }

    /// The account that this file is charged to while the image is kept.
    pub(crate) fn own_account(&self) -> &Account {
        &self.account
    }

    /// Closes the file; the parts that were read stay.
    pub(crate) fn close(&self) {
        self.file.take();
    }

    /// Takes memory for tables made from this file; false if not enough is left.
    #[must_use]
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let is_taken = self.account.take(bytes);
        self.is_short.set(self.is_short.get() | !is_taken);
        is_taken
    }

    /// Whether a requested part is missing because the budget had no room.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short.get()
    }

    /// The CRC-32 of the whole file; the bytes are not kept. `None` if the file is too large or
    /// cannot be read.
    pub(crate) fn checksum(&self) -> Option<u32> {
        let image_file = &self.account.image_file;
        let sum = image_file
            .budget
            .checksums
            .get(image_file.identity, || self.compute_checksum());
        if sum == Err(NoChecksum::TooLong) {
            self.account.refuse();
        }
        sum.ok()
    }

    fn compute_checksum(&self) -> Option<u32> {
        let file = self.file.borrow();
        let mut sum = crc32fast::Hasher::new();
        let mut part = vec![0; 64 << 10];
        let mut at = 0;
        while at < self.length {
            let read = file.as_ref()?.read_at(&mut part, at).ok()?;
            sum.update(part.get(..read).filter(|part| !part.is_empty())?);
            at += read as u64;
        }
        Some(sum.finalize())
    }

    /// Bytes that were read before, as part of a range that begins at or before `offset`.
    fn known(&self, offset: u64, size: u64) -> Option<&[u8]> {
        let end = offset.checked_add(size)?;
        let known = self.known.borrow();
        let mut before = known.range(..=offset).rev().take(PARTS_TRIED);
        let (start, (_, index)) = before.find(|(start, (length, _))| end <= **start + length)?;
        let part = self.parts.get(*index)?;
        part.bytes
            .get((offset - start) as usize..(end - start) as usize)
    }

    /// The bytes that another reader of the file keeps, or a new copy.
    fn read_part(&self, offset: u64, size: u64) -> Result<Arc<Part>, ()> {
        let image_file = &self.account.image_file;
        let key = PartKey {
            file: image_file.identity,
            offset,
            size,
        };
        self.admit(size)?;
        if let Some(shared) = image_file.budget.parts.get(&key) {
            return Ok(shared);
        }
        let mut charge = Charge::none(&image_file.budget);
        if !charge.take(size.saturating_add(PER_PART_BYTES)) {
            self.is_short.set(true);
            image_file.refuse();
            return Err(());
        }
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| ())?];
        let file = self.file.borrow();
        let is_read = file.as_ref().ok_or(())?.read_exact_at(&mut bytes, offset);
        is_read.map_err(|_| ())?;
        let part = Arc::new(Part::new(bytes, charge));
        image_file.budget.parts.share(key, &part);
        Ok(part)
    }

    /// Checks the limit on reads of an unknown file.
    fn admit(&self, size: u64) -> Result<(), ()> {
        let cost = size.saturating_add(PER_PART_BYTES);
        if let Some(left) = &mut *self.header_bytes_left.borrow_mut() {
            *left = left.checked_sub(cost).ok_or(())?;
        }
        Ok(())
    }
}

/// The charge for the entries of a part in tables.
const PER_PART_BYTES: u64 = 128;
/// How many earlier parts are checked for the wanted bytes.
const PARTS_TRIED: usize = 4;

impl ImageFile {
    /// Opens the file again, without the limit on reads.
    pub(crate) fn reopen(&self) -> io::Result<Image> {
        let file = open_regular(&self.path)?;
        if Identity::of(&file.metadata()?) != self.identity {
            return Err(io::Error::other("changed in the meantime"));
        }
        Ok(Image::new(file, self.clone(), None))
    }

    /// A new account, for tables that outlive the image.
    pub(crate) fn account(&self) -> Account {
        Account {
            charge: RefCell::new(Charge::none(&self.budget)),
            image_file: self.clone(),
        }
    }

    /// The size of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.identity.bytes
    }

    fn refuse(&self) {
        self.budget.refuse(&self.path, self.identity.bytes);
    }
}

impl<'i> ReadRef<'i> for &'i Image {
    fn len(self) -> Result<u64, ()> {
        Ok(self.length)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'i [u8], ()> {
        if size == 0 {
            return Ok(&[]);
        }
        if let Some(known) = self.known(offset, size) {
            return Ok(known);
        }
        if self.length < offset.checked_add(size).ok_or(())? {
            return Err(());
        }
        let part = self.parts.push_get(self.read_part(offset, size)?);
        // A longer part at this offset would have had the bytes.
        let index = self.parts.len() - 1;
        self.known.borrow_mut().insert(offset, (size, index));
        Ok(&part.bytes)
    }

    /// Reads a string up to the delimiter. Bytes after the string are read too, because strings lie side by
    /// side.
    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'i [u8], ()> {
        let size = range.end.checked_sub(range.start).ok_or(())?;
        for limit in [USUAL_STRING_BYTES, MAX_STRING_BYTES] {
            let bytes = self.read_bytes_at(range.start, size.min(limit))?;
            if let Some(length) = bytes.iter().position(|byte| *byte == delimiter) {
                return Ok(&bytes[..length]);
            }
        }
        Err(())
    }
}

const USUAL_STRING_BYTES: u64 = 4 << 10;
const MAX_STRING_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    // CT-21
    #[test]
    fn hard_links_share_a_checksum() {
        let room = tempfile::tempdir().expect("a directory");
        let (first, second) = (room.path().join("a"), room.path().join("b"));
        File::create(&first)
            .and_then(|file| file.set_len(600))
            .expect("a file");
        std::fs::hard_link(&first, &second).expect("another name");
        let other = room.path().join("c");
        File::create(&other)
            .and_then(|file| file.set_len(600))
            .expect("a file");
        let budget = Budget::new(1000);
        let sum = |path| Image::open(path, &budget).expect("it opens").checksum();
        assert!(sum(&first).is_some());
        assert_eq!(sum(&first), sum(&second));
        assert_eq!(sum(&other), None);
        assert_eq!(budget.refused()[0].path, other);
    }

    // CT-18
    #[test]
    fn readers_of_a_file_share_large_parts() {
        let room = tempfile::tempdir().expect("a directory");
        let path = room.path().join("a");
        let bytes: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
        std::fs::write(&path, &bytes).expect("a file");
        let budget = Budget::new(200_000);
        let open = || Image::open(&path, &budget).expect("it opens");
        let read = |image: &Image| image.read_bytes_at(0, 100_000).map(<[u8]>::to_vec);
        let (first, second) = (open(), open());
        assert_eq!(read(&first).as_ref(), Ok(&bytes));
        assert_eq!(read(&second).as_ref(), Ok(&bytes));
        // Another part has no room until both readers are gone.
        assert!(open().read_bytes_at(1, 99_999).is_err());
        drop(first);
        assert!(open().read_bytes_at(1, 99_999).is_err());
        drop(second);
        assert!(open().read_bytes_at(1, 99_999).is_ok());
    }
}
