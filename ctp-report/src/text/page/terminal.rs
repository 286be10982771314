//! Pages for a terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{Links, PageFormat};
use crate::text::wrap::{List, wrap};
use crate::text::{self, Width};

/// Lines of text with coloured verdicts.
pub(super) struct Terminal<'a> {
    out: &'a mut dyn Write,
    width: Width,
    links: Links,
}

impl<'a> Terminal<'a> {
    pub fn new(out: &'a mut dyn Write, width: Width) -> Self {
        Terminal {
            out,
            width,
            links: Links::default(),
        }
    }
}

impl PageFormat for Terminal<'_> {
    fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", self.links.link(line))
    }

    fn gap(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        let list = List {
            first: "",
            indent: "  ",
            separator: " ",
            items: &text::words(title),
        };
        let lines = list.lines(self.width.of_sentences());
        lines.iter().try_for_each(|line| self.line(line))
    }

    fn headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        let style = severity(word);
        let line = match right {
            "" => format!("{word}{rest}"),
            right => text::spread(&format!("{word}{rest}"), right, self.width.edge()),
        };
        let lines = wrap(&line, self.width.limit().unwrap_or(usize::MAX));
        let (first, more) = lines.split_first().expect("a line is at least one line");
        let rest = first.strip_prefix(word).unwrap_or_default();
        writeln!(self.out, "{style}{word}{style:#}{rest}")?;
        more.iter().try_for_each(|line| self.line(line))
    }

    fn set_links(&mut self, links: Links) {
        self.links = links;
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
        "DEADLOCK" | "STUCK" | "CRASH" | "BROKEN" | "FAILED" => AnsiColor::Red,
        "STUCK?" | "BUSY" => AnsiColor::Yellow,
        "UNKNOWN" | "NOT KNOWN" => AnsiColor::Magenta,
        _ => return Style::new(),
    };
    Style::new().bold().fg_color(Some(color.into()))
}
