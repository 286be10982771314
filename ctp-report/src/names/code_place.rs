//! A place in the program, as rows of pages and of JSON documents have it.

use serde::Serialize;

use crate::names::{Label, duplicates};

/// Where the coroutines of a row are.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CodePlace {
    /// The function there, else the name of the coroutines: `conn-*` of several that are numbered.
    pub function: String,
    /// The source file of the function.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// The line is where the function begins; where in the function is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// Column in that line.
    pub column: Option<u32>,
    /// Module and offset, where there is no source position.
    pub module: Option<String>,
    /// The function of a library in which they wait there, as far as that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Another row would look the same without its column.
    #[serde(skip)]
    pub is_duplicate: bool,
}

impl CodePlace {
    /// The place with this label, where the coroutines are called so.
    pub fn new(function: String, label: Label) -> Self {
        CodePlace {
            function,
            file: label.file,
            line: label.line,
            in_function: label.in_function,
            column: label.column,
            module: label.module,
            within: label.within,
            is_duplicate: false,
        }
    }

    /// File and line, or what is known instead; the column too where another row is on that line.
    pub fn at(&self) -> Option<String> {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                let column = self.column.filter(|_| self.is_duplicate);
                Some(duplicates::place((file, line), self.in_function, column))
            }
            _ => self.module.clone(),
        }
    }
}
