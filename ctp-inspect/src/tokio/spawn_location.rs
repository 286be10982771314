//! Where tasks were spawned, which tokio records if it is built with `tokio_unstable`.

use std::collections::HashMap;

use crate::target::Target;
use crate::tokio::vtable::TaskVtable;

/// No path of a source file is longer.
const MAX_BYTES: u64 = 4096;

/// Reads spawn locations, each once.
pub struct SpawnLocations<'t> {
    target: &'t dyn Target,
    /// The file and line, by the address of the `Location`.
    known: HashMap<u64, Option<(String, u32)>>,
}

impl<'t> SpawnLocations<'t> {
    /// Reads from this memory.
    pub fn new(target: &'t dyn Target) -> Self {
        SpawnLocations {
            target,
            known: HashMap::new(),
        }
    }

    /// File and line where the task at an address was spawned, if recorded.
    pub fn of(&mut self, task: u64, vtable: &TaskVtable) -> Option<(String, u32)> {
        let offset = vtable.spawn_location_offset?;
        let location = self.target.word(task.checked_add(offset)?)?;
        let target = self.target;
        let known = self.known.entry(location);
        known.or_insert_with(|| read(target, location)).clone()
    }
}

/// Reads a `core::panic::Location`: address and length of the file's path, line and column.
fn read(target: &dyn Target, location: u64) -> Option<(String, u32)> {
    let is_constant = |address| target.mapping_at(address).is_some_and(|m| m.has_file());
    let mut words = [0; 3];
    if !is_constant(location) || !target.words(location, &mut words) {
        return None;
    }
    let [path, length, line_and_column] = words;
    if length == 0 || MAX_BYTES < length || !is_constant(path) {
        return None;
    }
    let mut bytes = vec![0; length as usize];
    let is_whole = target.read(path, &mut bytes) == bytes.len();
    let text = String::from_utf8(bytes)
        .ok()
        .filter(|text| text.ends_with(".rs"))?;
    let line = line_and_column as u32;
    (is_whole && line != 0).then_some((text, line))
}
