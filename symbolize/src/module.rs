//! A module: an ELF file with its segments, debug info and symbols.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::{Object, ReadRef, elf};

use crate::addr::{Avma, FileOffset, Svma};
use crate::demangle::{demangle, unmangled};
use crate::dwarf::{Dwarf, Located};
use crate::error::Miss;
use crate::file::headers::Headers;
use crate::file::image::{Image, ImageFile};
use crate::frame_pointer::UnwindTable;
use crate::mapping::Mapping;
use crate::name::Name;
use crate::search_paths::SearchPaths;
use crate::separate;
use crate::symtab::{self, SymbolTable};

/// A `PT_LOAD` program header.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) start: Svma,
    pub(crate) file_offset: FileOffset,
    pub(crate) file_size: u64,
    pub(crate) is_code: bool,
}

/// Names from DWARF as completed by symbols, each computed once.
type Completed = HashMap<((Option<Svma>, usize), Option<Name>), Option<Name>>;

/// An ELF file. If the recording has a build id, this file is proven to be the mapped file.
pub(crate) struct Module {
    /// The file name, without directories.
    pub(crate) name: Arc<str>,
    path: String,
    file: ImageFile,
    /// The recorded path of the file.
    recorded: PathBuf,
    search_paths: SearchPaths,
    separate: OnceCell<Option<ImageFile>>,
    segments: Vec<Segment>,
    dwarf: OnceCell<Option<Dwarf>>,
    symbols: OnceCell<SymbolTable>,
    unwinding: OnceCell<Option<UnwindTable>>,
    completed: RefCell<Completed>,
}

impl Module {
    /// Reads the file of a mapping and checks that it is the file that was mapped.
    pub(crate) fn open(mapping: &Mapping, search_paths: &SearchPaths) -> Result<Self, Miss> {
        let path = mapping.shown_path();
        if !mapping.is_file() {
            return Err(Miss::NotAFile { path });
        }
        // A build without changes replaces the file by an equal file. The build id proves that both are equal.
        let is_provable = !mapping.build_id.is_empty();
        if mapping.is_deleted() && !is_provable {
            return Err(Miss::Deleted { path });
        }
        let opened = Self::open_live(mapping, search_paths);
        match opened {
            Err(_) if mapping.is_deleted() => Err(Miss::Deleted { path }),
            opened => opened,
        }
    }

    fn open_live(mapping: &Mapping, search_paths: &SearchPaths) -> Result<Self, Miss> {
        let recorded = PathBuf::from(OsStr::from_bytes(mapping.live_path()));
        let here = search_paths.file(&recorded);
        let path = here.to_string_lossy().into_owned();
        let (image, headers) = open(&here, &path, search_paths)?;
        check_build_id(&headers.build_id, &mapping.build_id, &path)?;
        Ok(Self {
            name: path.rsplit('/').next().unwrap_or(&path).into(),
            path,
            file: image.file().clone(),
            recorded,
            search_paths: search_paths.clone(),
            separate: OnceCell::new(),
            segments: code_first(headers.segments),
            dwarf: OnceCell::new(),
            symbols: OnceCell::new(),
            unwinding: OnceCell::new(),
            completed: RefCell::default(),
        })
    }

    /// Converts an address in a mapping of the file to its stated address.
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

    /// The address in a mapping of the file of a byte that the file loads at `address`.
    pub(crate) fn avma(&self, address: Svma, mapping: &Mapping) -> Option<Avma> {
        let mut segments = self.segments.iter();
        segments.find_map(|segment| address.to_avma(segment, mapping))
    }

    /// The functions of the symbol tables whose mangled names contain one of `parts`.
    pub(crate) fn functions_with(&self, parts: &[&str]) -> Vec<(Svma, String)> {
        let files = [Some(&self.file), self.separate()];
        let images = files.into_iter().filter_map(|file| file?.reopen().ok());
        let functions = images.flat_map(|image| symtab::functions_with(&image, parts));
        let mut functions: Vec<_> = functions.collect();
        functions.sort_unstable();
        functions.dedup();
        functions
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

    /// Reduced debug info has a function without its path, or no name at all. Then the symbol table has the full name.
    fn name_by_symbol(&self, frame: &mut Located, address: Svma) {
        if matches!(frame.name, Some(Name::Full(_))) {
            return;
        }
        let key = (self.symbols().group_at(address), frame.name.take());
        let mut completed = self.completed.borrow_mut();
        frame.name = completed
            .entry(key)
            .or_insert_with_key(|(_, name)| match name {
                Some(Name::Short(short)) => self.extended(short, address),
                _ => self.best_symbol(address),
            })
            .clone();
    }

    /// The full name of the function that DWARF calls `short`, or `short` itself.
    fn extended(&self, short: &str, address: Svma) -> Option<Name> {
        // A library has internal names, such as `__GI__IO_puts`, for functions that users know as `puts`.
        let is_own = short.starts_with("__");
        // Equal functions may share an address, so the symbol has to agree with DWARF.
        let mut symbols = self.symbols().names_at(address).map(unmangled);
        let full = symbols.find_map(|symbol| {
            let says_more = !is_own || symbol != short;
            Name::extended(&symbol, short).filter(|_| says_more)
        });
        full.or_else(|| self.best_symbol(address).filter(|_| is_own))
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
        let image = self.debug_image()?;
        let object = object::File::parse(&image).ok()?;
        let supplement = separate::supplement(&object, &image.file().path, &self.search_paths);
        Dwarf::load(image, supplement, &self.file.path, &self.search_paths)
    }

    /// The file with the debug info: the module itself or a separate file.
    pub(crate) fn debug_image(&self) -> Option<Image> {
        let image = self.separate().unwrap_or(&self.file).reopen().ok()?;
        let object = object::File::parse(&image).ok()?;
        object.has_debug_symbols().then_some(image)
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Whether the frame pointer can be followed while the code at this address runs.
    pub(crate) fn can_follow_frame_pointer(&self, address: Svma) -> bool {
        let table = self.unwinding();
        table.is_some_and(|table| table.can_follow(address))
    }

    /// Whether the frame pointer can be followed anywhere in the function with this address. `None` if unknown.
    pub(crate) fn keeps_frame_pointer(&self, address: Svma) -> Option<bool> {
        self.unwinding()?.can_follow_somewhere(address)
    }

    fn unwinding(&self) -> Option<&UnwindTable> {
        self.unwinding
            .get_or_init(|| UnwindTable::of(self.file.reopen().ok()?))
            .as_ref()
    }

    /// The separate debug file, if the debug info was moved.
    fn separate(&self) -> Option<&ImageFile> {
        self.separate
            .get_or_init(|| {
                let image = self.file.reopen().ok()?;
                let object = object::File::parse(&image).ok()?;
                let is_moved = !object.has_debug_symbols();
                is_moved.then(|| {
                    separate::find(&object, &self.file.path, &self.recorded, &self.search_paths)
                })?
            })
            .as_ref()
    }

    fn symbols(&self) -> &SymbolTable {
        self.symbols.get_or_init(|| {
            let files = [Some(&self.file), self.separate()];
            let images = files
                .into_iter()
                .filter_map(|file| file?.reopen().ok())
                .collect();
            SymbolTable::load(images, self.search_paths.budget())
        })
    }
}

/// Opens an ELF file and reads the headers. Errors name the file `path`.
pub(crate) fn open(
    file: &Path,
    path: &str,
    search_paths: &SearchPaths,
) -> Result<(Image, Headers), Miss> {
    let image = Image::open(file, search_paths.budget()).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => not_elf(path, &reason(&error)),
        _ => Miss::Unreadable {
            path: path.to_owned(),
            reason: reason(&error),
        },
    })?;
    match (&image).read_bytes_at(0, 4) {
        Ok(magic) if magic == elf::ELFMAG => {}
        _ => return Err(not_elf(path, "the ELF magic number is missing")),
    }
    let headers = Headers::read(&image).map_err(|error| not_elf(path, &error.to_string()))?;
    Ok((image, headers))
}

fn not_elf(path: &str, reason: &str) -> Miss {
    Miss::NotElf {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// The system's error message, without the error number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_owned(),
        None => text,
    }
}

fn check_build_id(found: &[u8], recorded: &[u8], path: &str) -> Result<(), Miss> {
    if recorded.is_empty() || found == recorded {
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

/// Puts executable segments first: some linkers load a byte of the file in two segments, and for code the executable
/// segment counts.
fn code_first(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.sort_by_key(|segment| !segment.is_code);
    segments
}
