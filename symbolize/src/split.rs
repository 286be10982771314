//! Loads split debug info, which the compiler wrote to separate files (DWARF 5, section 7.3). There is a `.dwo` file
//! for each unit, or next to the program a package `.dwp` that contains all of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{DwarfPackage, UnitRef};

use crate::cost::admit_abbreviations;
use crate::file::image::Image;
use crate::module::open;
use crate::search_paths::SearchPaths;
use crate::sections::{Images, Reader, Sections};

/// Finds and loads the split parts of a program's debug info.
pub(crate) struct Split<'i> {
    package: Option<DwarfPackage<Reader<'i>>>,
    /// The directory of the program.
    directory: PathBuf,
    search_paths: SearchPaths,
}

impl<'i> Split<'i> {
    /// Prepares to read the split debug info of the program at this path.
    pub(crate) fn of(program: &Path, search_paths: &SearchPaths, images: &'i Images) -> Self {
        let mut package = program.as_os_str().to_owned();
        package.push(".dwp");
        Self {
            package: load_package(Path::new(&package), search_paths, images),
            directory: program.parent().unwrap_or(Path::new("/")).to_owned(),
            search_paths: search_paths.clone(),
        }
    }

    /// Completes a lookup of addr2line. Loads the split parts that the lookup requests on the way.
    pub(crate) fn complete<L>(&self, mut result: LookupResult<L>, images: &'i Images) -> L::Output
    where
        L: LookupContinuation<Buf = Reader<'i>>,
    {
        loop {
            result = match result {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => {
                    continuation.resume(self.load(&load, images))
                }
            };
        }
    }

    /// The split part that belongs to the unit `skeleton`. `None` if the unit has no split part, or the part is not found.
    pub(crate) fn part_of(
        &self,
        skeleton: UnitRef<'_, Reader<'i>>,
        images: &'i Images,
    ) -> Option<gimli::Dwarf<Reader<'i>>> {
        let name = skeleton.dwo_name().ok()??;
        let parent = Arc::new(gimli::Dwarf {
            debug_addr: skeleton.dwarf.debug_addr,
            ranges: skeleton.dwarf.ranges,
            ..gimli::Dwarf::default()
        });
        let requested = SplitDwarfLoad {
            dwo_id: skeleton.dwo_id?,
            comp_dir: skeleton.comp_dir,
            path: skeleton.attr_string(name).ok(),
            parent,
        };
        self.load(&requested, images).and_then(Arc::into_inner)
    }

    fn load(
        &self,
        requested: &SplitDwarfLoad<Reader<'i>>,
        images: &'i Images,
    ) -> Option<Arc<gimli::Dwarf<Reader<'i>>>> {
        let packed = self.package.as_ref().and_then(|package| {
            let found = package.find_cu(requested.dwo_id, &requested.parent);
            found.ok().flatten()
        });
        packed
            .or_else(|| {
                let candidates = self.paths_of(requested)?.into_iter();
                candidates
                    .filter_map(|path| self.load_part(&path, requested, images))
                    .next()
            })
            .map(Arc::new)
    }

    /// Loads the requested part from the file at `path`. `None` if the file has another part.
    fn load_part(
        &self,
        path: &Path,
        requested: &SplitDwarfLoad<Reader<'i>>,
        images: &'i Images,
    ) -> Option<gimli::Dwarf<Reader<'i>>> {
        let file = Sections::of(open_unchecked(path, &self.search_paths)?, images)?;
        let mut part = gimli::Dwarf::load(file.split()).ok()?;
        file.close()?;
        admit_abbreviations(&mut part, file.account())?;
        part.make_dwo(&requested.parent);
        let is_requested = has_part(&part, requested.dwo_id);
        is_requested.then_some(part)
    }

    /// The two paths at which the part may be: the path that the compiler recorded, and the directory of the program.
    fn paths_of(&self, requested: &SplitDwarfLoad<Reader<'i>>) -> Option<[PathBuf; 2]> {
        let name = path_of(requested.path.as_ref()?);
        let directory = requested.comp_dir.as_ref().map(path_of).unwrap_or_default();
        let local = self.directory.join(name.file_name()?);
        Some([self.search_paths.file(&directory.join(&name)), local])
    }
}

fn path_of(text: &Reader<'_>) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.slice()))
}

fn load_package<'i>(
    path: &Path,
    search_paths: &SearchPaths,
    images: &'i Images,
) -> Option<DwarfPackage<Reader<'i>>> {
    let file = Sections::of(open_unchecked(path, search_paths)?, images)?;
    let package = DwarfPackage::load(file.split(), file.empty()).ok()?;
    file.close()?;
    Some(package)
}

/// Opens split debug info without checking a build id, which such files lack. Callers check the id of each part instead.
fn open_unchecked(path: &Path, search_paths: &SearchPaths) -> Option<Image> {
    let (image, _) = open(path, "", search_paths).ok()?;
    image.trust();
    Some(image)
}

fn has_part(part: &gimli::Dwarf<Reader<'_>>, id: gimli::DwoId) -> bool {
    let mut units = part.units();
    while let Ok(Some(header)) = units.next() {
        if part.unit(header).is_ok_and(|unit| unit.dwo_id == Some(id)) {
            return true;
        }
    }
    false
}
