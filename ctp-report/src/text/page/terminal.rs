//! Pages for a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::PageFormat;
use crate::text;

/// Lines of text with coloured verdicts.
pub(super) struct Terminal<'a>(pub &'a mut dyn Write);

impl PageFormat for Terminal<'_> {
    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.0, "{line}")
    }

    fn gap(&mut self) -> io::Result<()> {
        writeln!(self.0)
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        let lines = text::flow("", "  ", " ", &text::words(title));
        lines.iter().try_for_each(|line| self.line(line))
    }

    fn headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        let style = severity(word);
        let line = match right {
            "" => format!("{word}{rest}"),
            right => text::spread(&format!("{word}{rest}"), right),
        };
        let line = text::cut(&line, text::WIDTH);
        writeln!(self.0, "{style}{word}{style:#}{}", &line[word.len()..])
    }

    fn has_hints(&self) -> bool {
        true
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn severity(word: &str) -> Style {
    let color = match word {
        "DEADLOCK" | "STUCK" | "CRASH" | "BROKEN" => AnsiColor::Red,
        "STUCK?" | "BUSY" => AnsiColor::Yellow,
        "UNKNOWN" => AnsiColor::Magenta,
        _ => return Style::new(),
    };
    Style::new().bold().fg_color(Some(color.into()))
}
