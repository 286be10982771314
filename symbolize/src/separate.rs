//! Separate debug files, found as in GDB: by build id, or by the name and checksum in
//! `.gnu_debuglink`. A file is used only if the build id or checksum proves that the file belongs to
//! the binary.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::file::image::{Image, ImageFile};
use crate::module::open;
use crate::search_paths::SearchPaths;

/// The separate debug file of a binary with this path and this recorded path.
pub(crate) fn find<'i>(
    binary: &object::File<'i, &'i Image>,
    here: &Path,
    recorded: &Path,
    search_paths: &SearchPaths,
) -> Option<ImageFile> {
    let build_id = binary.build_id().ok().flatten().unwrap_or_default();
    let link = binary.gnu_debuglink().ok().flatten();
    let by_id = search_paths.by_build_id(build_id).into_iter();
    let by_link = link.map(|(name, _)| search_paths.by_link(name, here, recorded));
    let crc = link.map(|(_, crc)| crc);
    by_id
        .chain(by_link.into_iter().flatten())
        .filter(|path| path != here)
        .find_map(|path| proven(path, build_id, crc, search_paths))
        .map(|image| image.file().clone())
}

/// The supplementary file, to which `dwz` moved common debug info of several files. `.gnu_debugaltlink`
/// has the name, and the build id as proof.
pub(crate) fn supplement<'i>(
    debug: &object::File<'i, &'i Image>,
    here: &Path,
    search_paths: &SearchPaths,
) -> Option<Image> {
    let (name, build_id) = debug.gnu_debugaltlink().ok().flatten()?;
    let by_name = search_paths.by_name(Path::new(OsStr::from_bytes(name)), here);
    let by_id = search_paths.by_build_id(build_id);
    by_name
        .into_iter()
        .chain(by_id)
        .find_map(|path| proven(path, build_id, None, search_paths))
}

/// The file at this path, if it has this build id or, without a build id, this checksum.
fn proven(
    path: PathBuf,
    build_id: &[u8],
    crc: Option<u32>,
    search_paths: &SearchPaths,
) -> Option<Image> {
    let (image, headers) = open(&path, "", search_paths).ok()?;
    let is_proven = if build_id.is_empty() {
        crc.is_some() && crc == image.checksum()
    } else {
        headers.build_id == build_id
    };
    image.trust();
    is_proven.then_some(image)
}
