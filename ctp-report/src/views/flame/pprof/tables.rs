//! The tables of a profile: texts, functions, locations, and the files that were mapped.

use std::collections::HashMap;

use ctp_trace::record::{Module, ProcessId};

use crate::load::Model;
use crate::output::protobuf::Message;
use crate::text::{self, units};
use crate::views::flame::samples::SampledFrame;

/// Fields of a `Profile`.
const MAPPING: u64 = 3;
const LOCATION: u64 = 4;
const FUNCTION: u64 = 5;
const STRING_TABLE: u64 = 6;

/// Field of a `Mapping`, a `Location` and a `Function`.
const ID: u64 = 1;

/// Further fields of a `Mapping`.
const MEMORY_START: u64 = 2;
const MEMORY_LIMIT: u64 = 3;
const FILE_OFFSET: u64 = 4;
const FILENAME: u64 = 5;
const BUILD_ID: u64 = 6;
const HAS_FUNCTIONS: u64 = 7;
const HAS_FILENAMES: u64 = 8;
const HAS_LINE_NUMBERS: u64 = 9;
const HAS_INLINE_FRAMES: u64 = 10;

/// Further fields of a `Location`.
const MAPPING_ID: u64 = 2;
const ADDRESS: u64 = 3;
const LINE: u64 = 4;

/// Fields of a `Line`.
const FUNCTION_ID: u64 = 1;
const LINE_NUMBER: u64 = 2;

/// Further fields of a `Function`.
const NAME: u64 = 2;
const SYSTEM_NAME: u64 = 3;
const SOURCE_FILE: u64 = 4;

/// Numbers what samples refer to. All but texts are numbered from 1.
#[derive(Debug)]
pub struct Tables<'m> {
    model: &'m Model,
    texts: HashMap<String, u64>,
    functions: HashMap<(String, Option<String>), u64>,
    locations: HashMap<SampledFrame, u64>,
    /// The numbers of mappings, by their position in the trace.
    mappings: HashMap<usize, u64>,
    /// The encoded functions, locations and mappings.
    entries: Message,
    /// The texts in their order. The first is empty.
    list: Vec<String>,
}

impl<'m> Tables<'m> {
    /// Creates tables for a trace.
    pub fn new(model: &'m Model) -> Self {
        let mut tables = Tables {
            model,
            texts: HashMap::new(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            mappings: HashMap::new(),
            entries: Message::default(),
            list: Vec::new(),
        };
        tables.text("");
        tables
    }

    /// The number of a text.
    pub fn text(&mut self, text: &str) -> u64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.list.len() as u64;
        self.texts.insert(text.to_owned(), number);
        self.list.push(text.to_owned());
        number
    }

    /// The number of a location.
    pub fn location(&mut self, frame: &SampledFrame) -> u64 {
        if let Some(number) = self.locations.get(frame) {
            return *number;
        }
        let number = self.locations.len() as u64 + 1;
        self.locations.insert(frame.clone(), number);
        let mut line = Message::default();
        line.number(FUNCTION_ID, self.function(frame));
        line.number(LINE_NUMBER, frame.line.unwrap_or_default().into());
        let mut location = Message::default();
        location.number(ID, number);
        if let Some((process, address)) = frame.address
            && let Some(mapping) = self.mapping(process, address)
        {
            location.number(MAPPING_ID, mapping);
            location.number(ADDRESS, address);
        }
        location.message(LINE, &line);
        self.entries.message(LOCATION, &location);
        number
    }

    /// Appends all tables to the profile.
    pub fn append_to(self, profile: &mut Message) {
        profile.append(&self.entries);
        for text in &self.list {
            profile.text(STRING_TABLE, text);
        }
    }

    fn function(&mut self, frame: &SampledFrame) -> u64 {
        let key = (frame.function.clone(), frame.file.clone());
        if let Some(number) = self.functions.get(&key) {
            return *number;
        }
        let number = self.functions.len() as u64 + 1;
        self.functions.insert(key, number);
        let name = self.text(&frame.function);
        let file = self.text(frame.file.as_deref().unwrap_or_default());
        let mut function = Message::default();
        function.number(ID, number);
        function.number(NAME, name);
        function.number(SYSTEM_NAME, name);
        function.number(SOURCE_FILE, file);
        self.entries.message(FUNCTION, &function);
        number
    }

    /// The number of the mapping that contains an address, if the trace has this mapping.
    fn mapping(&mut self, process: ProcessId, address: u64) -> Option<u64> {
        let modules = &self.model.modules;
        let position = modules.iter().position(|module| {
            module.process == process && module.start <= address && address < module.end
        })?;
        if let Some(number) = self.mappings.get(&position) {
            return Some(*number);
        }
        let number = self.mappings.len() as u64 + 1;
        self.mappings.insert(position, number);
        let mapping = self.encoded_mapping(number, &modules[position]);
        self.entries.message(MAPPING, &mapping);
        Some(number)
    }

    /// States that names are complete, so that pprof does not look for the file.
    fn encoded_mapping(&mut self, number: u64, module: &Module) -> Message {
        let mut mapping = Message::default();
        mapping.number(ID, number);
        mapping.number(MEMORY_START, module.start);
        mapping.number(MEMORY_LIMIT, module.end);
        mapping.number(FILE_OFFSET, module.file_offset);
        mapping.number(FILENAME, self.text(&text::escape_bytes(&module.path)));
        mapping.number(BUILD_ID, self.text(&units::hex(&module.build_id)));
        for known in [
            HAS_FUNCTIONS,
            HAS_FILENAMES,
            HAS_LINE_NUMBERS,
            HAS_INLINE_FRAMES,
        ] {
            mapping.number(known, 1);
        }
        mapping
    }
}
