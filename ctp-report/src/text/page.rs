//! A page of text: where lines go, and what colour a verdict has.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use ctp_trace::escape::escaped;

use crate::text;

/// A page in the making. No line that it writes is too long, or contains what a terminal might obey:
/// names and paths come from the program, and only the colours are ours.
pub struct Page<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Page<'a> {
    /// An empty page.
    pub fn new(out: &'a mut dyn Write) -> Self {
        Page { out }
    }

    /// One line.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let line = text::cut(&escaped(line), text::WIDTH);
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Several lines.
    pub fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// A sentence in as many lines as it takes; all but the first begin with `indent`.
    pub fn sentence(&mut self, first: &str, indent: &str, sentence: &str) -> io::Result<()> {
        self.lines(&text::flow(first, indent, " ", &text::words(sentence)))
    }

    /// An empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// A line that begins with a word of a certain severity.
    pub fn headline(&mut self, word: &str, rest: &str) -> io::Result<()> {
        let rest = text::cut(
            &escaped(rest),
            text::WIDTH.saturating_sub(text::columns(word)),
        );
        let style = severity(word);
        writeln!(self.out, "{style}{word}{style:#}{rest}")
    }

    /// The same with a text at the right edge.
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
