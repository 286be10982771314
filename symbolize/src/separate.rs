//! Debug info that lies in a file of its own, found as GDB finds it: by build id, or by the name
//! and checksum in `.gnu_debuglink`. Only a file that proves to belong to the binary is taken.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object::Object;

use crate::module::read;
use crate::places::Places;

/// A file that holds debug info.
pub(crate) struct Separate {
    pub(crate) path: PathBuf,
    pub(crate) image: Arc<[u8]>,
}

/// The separate debug file of a binary that lies here and was recorded there.
pub(crate) fn find(
    binary: &object::File<'_>,
    here: &Path,
    recorded: &Path,
    places: &Places,
) -> Option<Separate> {
    let build_id = binary.build_id().ok().flatten().unwrap_or_default();
    let link = binary.gnu_debuglink().ok().flatten();
    let by_id = places.by_build_id(build_id).into_iter();
    let by_link = link.map(|(name, _)| places.by_link(name, here, recorded));
    let crc = link.map(|(_, crc)| crc);
    by_id
        .chain(by_link.into_iter().flatten())
        .filter(|path| path != here)
        .find_map(|path| belongs(open(path)?, build_id, crc))
}

/// What the debug info of several files has in common was moved to one (by `dwz`): the file that
/// `.gnu_debugaltlink` names, proven by its build id.
pub(crate) fn supplement(
    debug: &object::File<'_>,
    here: &Path,
    places: &Places,
) -> Option<Separate> {
    let (name, build_id) = debug.gnu_debugaltlink().ok().flatten()?;
    let by_name = places.by_name(Path::new(OsStr::from_bytes(name)), here);
    let by_id = places.by_build_id(build_id);
    by_name
        .into_iter()
        .chain(by_id)
        .find_map(|path| belongs(open(path)?, build_id, None))
}

fn open(path: PathBuf) -> Option<Separate> {
    let image = read(&path, "").ok()?;
    Some(Separate { path, image })
}

/// By its build id, else, where there is none, by the checksum of its bytes.
fn belongs(separate: Separate, build_id: &[u8], crc: Option<u32>) -> Option<Separate> {
    let object = object::File::parse(&*separate.image).ok()?;
    let found = object.build_id().ok().flatten().unwrap_or_default();
    let is_proven = match build_id.is_empty() {
        false => found == build_id,
        true => crc == Some(crc32fast::hash(&separate.image)),
    };
    is_proven.then_some(separate)
}
