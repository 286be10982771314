//! The lines of spans, in the form that the probe keeps.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{PoisonError, RwLock};

use ctp_nostd::call_site::ForeignLine;
use tracing::Metadata;
use tracing::callsite::Identifier;

/// The lines so far. There are as many as spans in the source.
#[derive(Debug, Default)]
pub struct CallSites {
    lines: RwLock<HashMap<Identifier, ForeignLine>>,
}

impl CallSites {
    /// The line of a span. File names are copied once for each span in the source, and kept for the life of
    /// the process.
    pub fn line_of(&self, metadata: &Metadata<'_>) -> ForeignLine {
        let call_site = metadata.callsite();
        let lines = self.lines.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&call_site) {
            return *line;
        }
        drop(lines);
        let mut lines = self.lines.write().unwrap_or_else(PoisonError::into_inner);
        *lines.entry(call_site).or_insert_with(|| stored(metadata))
    }
}

fn stored(metadata: &Metadata<'_>) -> ForeignLine {
    let file = metadata.file().and_then(|file| CString::new(file).ok());
    let file: Option<&'static CStr> = file.map(|file| &*Box::leak(file.into_boxed_c_str()));
    ForeignLine::in_file(file, metadata.line().unwrap_or(0))
}
