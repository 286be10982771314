//! A page of text with coloured verdicts.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use ctp_trace::escape::escaped;

use crate::text;

/// Writes a page. Lines are cut to the page width and contain no control sequences except colours. Names
/// and paths come from the program and are not trusted.
pub struct Page<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    /// Creates an empty page.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Page { out }
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let line = text::cut(&escaped(line), text::WIDTH);
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Writes several lines.
    pub fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes a sentence, wrapped into lines. All lines but the first begin with `indent`.
    pub fn sentence(&mut self, first: &str, indent: &str, sentence: &str) -> io::Result<()> {
        self.lines(&text::flow(first, indent, " ", &text::words(sentence)))
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes a line that begins with a word in the colour of its severity.
    pub fn headline(&mut self, word: &str, rest: &str) -> io::Result<()> {
        let rest = text::cut(
            &escaped(rest),
            text::WIDTH.saturating_sub(text::columns(word)),
        );
        let style = severity(word);
        writeln!(self.out, "{style}{word}{style:#}{rest}")
    }

    /// Like [`Self::headline`], with a text at the right edge.
    pub fn spread_headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        let line = text::spread(&format!("{word}{rest}"), right);
        self.headline(word, &line[word.len()..])
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
