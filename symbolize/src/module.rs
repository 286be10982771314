//! One ELF file: its bytes, build id and loaded segments, and the names in it.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object, ObjectSegment, elf};

use crate::addr::{Avma, FileOffset, Svma};
use crate::demangle::{demangle, unmangled};
use crate::dwarf::{Dwarf, Located};
use crate::error::Miss;
use crate::frame_pointer::UnwindTable;
use crate::mapping::Mapping;
use crate::name::Name;
use crate::places::Places;
use crate::separate::{self, Separate};
use crate::symtab::SymbolTable;

/// A `PT_LOAD` program header.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) start: Svma,
    pub(crate) file_offset: FileOffset,
    pub(crate) file_size: u64,
    pub(crate) is_code: bool,
}

/// What symbols made of the names that DWARF has, each once.
type Completed = HashMap<((Option<Svma>, usize), Option<Name>), Option<Name>>;

/// An ELF file that is proven to be the one that was mapped, as far as the recording knows.
pub(crate) struct Module {
    /// The file name, without directories.
    pub(crate) name: Arc<str>,
    path: String,
    image: Arc<[u8]>,
    /// Where the file was read, and where it lay when it ran.
    here: PathBuf,
    recorded: PathBuf,
    places: Places,
    separate: OnceCell<Option<Separate>>,
    segments: Vec<Segment>,
    dwarf: OnceCell<Option<Dwarf>>,
    symbols: OnceCell<SymbolTable>,
    unwinding: OnceCell<Option<UnwindTable>>,
    completed: RefCell<Completed>,
}

impl Module {
    /// Reads the file of a mapping and checks that it is the file that was mapped.
    pub(crate) fn open(mapping: &Mapping, places: &Places) -> Result<Self, Miss> {
        let path = mapping.shown_path();
        if !mapping.is_file() {
            return Err(Miss::NotAFile { path });
        }
        // Deleted does not mean lost: a build that changed nothing puts an equal file there, and the build id proves it.
        let is_provable = !mapping.build_id.is_empty();
        if mapping.is_deleted() && !is_provable {
            return Err(Miss::Deleted { path });
        }
        let opened = Self::open_live(mapping, places);
        match opened {
            Err(_) if mapping.is_deleted() => Err(Miss::Deleted { path }),
            opened => opened,
        }
    }

    fn open_live(mapping: &Mapping, places: &Places) -> Result<Self, Miss> {
        let recorded = PathBuf::from(OsStr::from_bytes(mapping.live_path()));
        let here = places.file(&recorded);
        let path = here.to_string_lossy().into_owned();
        let image = read(&here, &path)?;
        let not_elf = |error: object::Error| Miss::NotElf {
            path: path.clone(),
            reason: error.to_string(),
        };
        let object = object::File::parse(&*image).map_err(not_elf)?;
        check_build_id(&object, &mapping.build_id, &path)?;
        let segments = code_first(object.segments().map(|s| segment(&s)).collect());
        drop(object);
        Ok(Self {
            name: path.rsplit('/').next().unwrap_or(&path).into(),
            path,
            image,
            here,
            recorded,
            places: places.clone(),
            separate: OnceCell::new(),
            segments,
            dwarf: OnceCell::new(),
            symbols: OnceCell::new(),
            unwinding: OnceCell::new(),
            completed: RefCell::default(),
        })
    }

    /// Where in this file's own addresses the address is.
    pub(crate) fn svma(&self, address: Avma, mapping: &Mapping) -> Result<Svma, Miss> {
        let offset = address.to_file_offset(mapping);
        let found = self
            .segments
            .iter()
            .find_map(|segment| offset.to_svma(segment));
        found.ok_or_else(|| Miss::NoSegment {
            path: self.path.clone(),
            offset,
        })
    }

    /// The frames at an address, innermost first; never empty.
    pub(crate) fn frames(&self, address: Svma) -> Vec<Located> {
        let mut frames = self
            .dwarf()
            .map_or_else(Vec::new, |dwarf| dwarf.frames(address));
        if frames.is_empty() {
            frames.push(Located::default());
        }
        // Only the outermost frame is a function of the symbol table.
        if let Some(outermost) = frames.last_mut() {
            self.name_by_symbol(outermost, address);
        }
        frames
    }

    /// Reduced debug info names a function without its path, or not at all: the symbol table then says it in full.
    fn name_by_symbol(&self, frame: &mut Located, address: Svma) {
        if matches!(frame.name, Some(Name::Full(_))) {
            return;
        }
        let key = (self.symbols().group_at(address), frame.name.take());
        let mut completed = self.completed.borrow_mut();
        let complete = |(_, name): &(_, Option<Name>)| match name {
            Some(Name::Short(short)) => self.extended(short, address),
            _ => self.best_symbol(address),
        };
        frame.name = completed.entry(key).or_insert_with_key(complete).clone();
    }

    /// The full name of what DWARF calls `short`, or that.
    fn extended(&self, short: &str, address: Svma) -> Option<Name> {
        // What a library calls a function among its own (`__GI__IO_puts`), users call `puts`.
        let is_own = short.starts_with("__");
        // Equal functions may share an address, so a symbol has to agree with what DWARF says.
        let mut symbols = self.symbols().names_at(address).map(unmangled);
        let full = symbols.find_map(|symbol| {
            let says_more = !is_own || symbol != short;
            Name::extended(&symbol, short).filter(|_| says_more)
        });
        let alias = || self.best_symbol(address).filter(|_| is_own);
        full.or_else(alias)
            .or_else(|| Some(Name::Short(short.into())))
    }

    fn best_symbol(&self, address: Svma) -> Option<Name> {
        let best = self.symbols().names_at(address).next();
        best.map(|name| Name::Full(demangle(name).into()))
    }

    pub(crate) fn dwarf(&self) -> Option<&Dwarf> {
        self.dwarf.get_or_init(|| self.load_dwarf()).as_ref()
    }

    fn load_dwarf(&self) -> Option<Dwarf> {
        let (image, here) = match self.separate() {
            Some(separate) => (&separate.image, &separate.path),
            None => (&self.image, &self.here),
        };
        let object = object::File::parse(&**image).ok()?;
        if !object.has_debug_symbols() {
            return None;
        }
        let supplement = separate::supplement(&object, here, &self.places);
        let supplement = supplement.as_ref().map(|supplement| &supplement.image);
        Dwarf::load(image, supplement, &self.here, &self.places)
    }

    /// Can the frame pointer be followed when the code at this address runs?
    pub(crate) fn can_follow_frame_pointer(&self, address: Svma) -> bool {
        let table = self.unwinding();
        table.is_some_and(|table| table.can_follow(&self.image, address))
    }

    /// Can it be followed anywhere in the function with this address? `None` if nothing says.
    pub(crate) fn keeps_frame_pointer(&self, address: Svma) -> Option<bool> {
        self.unwinding()?.ever_follows(&self.image, address)
    }

    fn unwinding(&self) -> Option<&UnwindTable> {
        let load = || UnwindTable::of(&self.object()?);
        self.unwinding.get_or_init(load).as_ref()
    }

    /// The file that its debug info was moved to.
    fn separate(&self) -> Option<&Separate> {
        let find = || {
            let object = self.object().filter(|it| !it.has_debug_symbols())?;
            separate::find(&object, &self.here, &self.recorded, &self.places)
        };
        self.separate.get_or_init(find).as_ref()
    }

    fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| {
            let separate = self
                .separate()
                .and_then(|it| object::File::parse(&*it.image).ok());
            SymbolTable::load(self.object().iter().chain(&separate))
        })
    }

    /// Parsed again when needed: it borrows from the bytes that are kept here.
    fn object(&self) -> Option<object::File<'_>> {
        object::File::parse(&*self.image).ok()
    }
}

/// The bytes of an ELF file, called `path` where something is wrong with it.
pub(crate) fn read(file: &Path, path: &str) -> Result<Arc<[u8]>, Miss> {
    let unreadable = |error: io::Error| Miss::Unreadable {
        path: path.to_owned(),
        reason: reason(&error),
    };
    // Not opened before it is known to be a plain file: to open a pipe is to wait for its other end.
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(not_elf(path, "not a plain file"));
    }
    check_size(metadata.len(), path)?;
    let mut file = File::open(file).map_err(unreadable)?;
    let mut magic = [0; 4];
    match file.read_exact(&mut magic) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(unreadable(error));
        }
        Ok(()) if magic == elf::ELFMAG => {}
        _ => return Err(not_elf(path, "it does not start like one")),
    }
    file.rewind().map_err(unreadable)?;
    whole(file, metadata.len()).map_err(unreadable)
}

/// Files of the kernel state no size, and to read some of them is to wait; one that states the size
/// of all memory (`/proc/kcore`) starts like an ELF file.
fn check_size(bytes: u64, path: &str) -> Result<(), Miss> {
    match bytes {
        0..4 => Err(not_elf(path, "it does not start like one")),
        4..=MOST_BYTES => Ok(()),
        _ => Err(not_elf(path, "it is too large")),
    }
}

/// No program comes near it, debug info included; there would have to be room for all of it.
const MOST_BYTES: u64 = 16 << 30;

/// Read to where it stays: debug info is large.
fn whole(mut file: File, bytes: u64) -> io::Result<Arc<[u8]>> {
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    let mut image: Arc<[u8]> = std::iter::repeat_n(0, length).collect();
    let room = Arc::get_mut(&mut image).expect("nobody else has it yet");
    file.read_exact(room)?;
    Ok(image)
}

fn not_elf(path: &str, reason: &str) -> Miss {
    Miss::NotElf {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// What the system says, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

fn check_build_id(object: &object::File<'_>, recorded: &[u8], path: &str) -> Result<(), Miss> {
    if recorded.is_empty() {
        return Ok(());
    }
    let found = object.build_id().ok().flatten().unwrap_or_default();
    if found == recorded {
        return Ok(());
    }
    Err(Miss::BuildIdMismatch {
        path: path.to_owned(),
        recorded: hex(recorded),
        found: hex(found),
    })
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "none".to_owned();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn segment<'a>(segment: &impl ObjectSegment<'a>) -> Segment {
    let (file_offset, file_size) = segment.file_range();
    Segment {
        start: Svma(segment.address()),
        file_offset: FileOffset(file_offset),
        file_size,
        is_code: segment.permissions().executable(),
    }
}

/// Some linkers load a byte of the file in two segments; an address of code means the executable one.
fn code_first(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.sort_by_key(|segment| !segment.is_code);
    segments
}
