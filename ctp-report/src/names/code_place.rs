//! A place in the program, as shown in rows of pages and JSON documents.

use serde::Serialize;

use crate::names::{Label, duplicates};

/// The place of the coroutines in a row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CodePlace {
    /// The function, or the name of the coroutines, such as `conn-*` for numbered names.
    pub function: String,
    /// The source file of the function.
    pub file: Option<String>,
    /// The path of that file on pages.
    #[serde(skip)]
    pub shown: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// The line is the beginning of the function, and the position in the function is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_function: bool,
    /// Column in that line.
    pub column: Option<u32>,
    /// Module and offset, if there is no source position.
    pub module: Option<String>,
    /// The library function, or the `poll` function of the user's own leaf future, in which the coroutines
    /// wait, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Whether another row would look the same without the column.
    #[serde(skip)]
    pub is_duplicate: bool,
}

impl CodePlace {
    /// Creates a place from a label and a function.
    pub fn new(function: String, label: Label) -> Self {
        CodePlace {
            function,
            shown: label.displayed_file().map(str::to_owned),
            file: label.file,
            line: label.line,
            in_function: label.in_function,
            column: label.column,
            module: label.module,
            within: label.within,
            is_duplicate: false,
        }
    }

    /// File and line as on all pages, or module and offset. Has a column if another row is on the same line.
    pub fn at(&self) -> Option<String> {
        match (&self.shown, self.line) {
            (Some(file), Some(line)) => {
                let column = self.column.filter(|_| self.is_duplicate);
                Some(duplicates::place((file, line), self.in_function, column))
            }
            _ => self.module.clone(),
        }
    }
}
