//! A page of text, in one of several formats: for a terminal, as Markdown, or as a part of an HTML file.

mod html;
mod links;
mod markdown;
mod terminal;

use std::io::{self, Write};

use ctp_trace::escape::escaped;

use super::table::{self, Column};
use super::wrap::{List, wrap};
use crate::text::{self, Width};

pub use html::Sections;
pub use links::Links;

/// Writes a page. Lines are wrapped to the page width and contain no control sequences except colours.
/// Names and paths come from the program and are not trusted.
pub struct Page<'a> {
    format: Box<dyn PageFormat + 'a>,
    width: Width,
}

/// How many source lines are shown around the line of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextLines {
    /// Lines above.
    pub above: u32,
    /// Lines below.
    pub below: u32,
}

impl ContextLines {
    /// For pages of text, on which several places share a screen.
    pub const FEW: Self = ContextLines { above: 2, below: 0 };
    /// For pages in a browser.
    pub const MANY: Self = ContextLines { above: 4, below: 4 };
}

/// A format of pages. The texts have no control characters.
trait PageFormat {
    /// A line.
    fn line(&mut self, line: &str) -> io::Result<()>;

    /// An empty line.
    fn gap(&mut self) -> io::Result<()>;

    /// The first line of a section, without a verdict.
    fn title(&mut self, title: &str) -> io::Result<()>;

    /// The first line of a section: a word that may be a verdict, the rest of the line, and a text
    /// for the right edge.
    fn headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()>;

    /// Makes places of the source links, if the format supports that.
    fn set_links(&mut self, _links: Links) {}

    /// How many source lines are shown.
    fn context_lines(&self) -> ContextLines {
        ContextLines::FEW
    }

    /// Whether the reader of the page can run the commands that the page suggests.
    fn has_hints(&self) -> bool {
        false
    }

    /// The end of the page.
    fn end(&mut self) -> io::Result<()>;
}

impl<'a> Page<'a> {
    /// How many source lines are shown around the line of a place.
    pub fn context_lines(&self) -> ContextLines {
        self.format.context_lines()
    }

    /// Creates an empty page for a terminal, with coloured verdicts.
    pub fn terminal(out: &'a mut dyn Write, width: Width) -> Self {
        Page {
            format: Box::new(terminal::Terminal::new(out, width)),
            width,
        }
    }

    /// Creates a page in Markdown that has only a title.
    pub fn markdown(out: &'a mut dyn Write, title: &str) -> io::Result<Self> {
        Ok(Page {
            format: Box::new(markdown::Markdown::new(out, &escaped(title))?),
            width: Width::Full,
        })
    }

    /// Creates an empty page as elements of an HTML file.
    pub fn html(sections: &'a mut Sections) -> Self {
        Page {
            format: Box::new(sections),
            width: Width::Full,
        }
    }

    /// Makes places of the source links.
    pub fn set_links(&mut self, links: Links) {
        self.format.set_links(links);
    }

    /// The width of the page.
    pub fn width(&self) -> Width {
        self.width
    }

    /// Writes a line. A line that is wider than the page is wrapped.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let line = escaped(line);
        match self.width.limit() {
            Some(limit) => wrap(&line, limit)
                .iter()
                .try_for_each(|line| self.format.line(line.trim_end())),
            None => self.format.line(line.trim_end()),
        }
    }

    /// Writes several lines.
    pub fn lines(&mut self, lines: &[String]) -> io::Result<()> {
        lines.iter().try_for_each(|line| self.line(line))
    }

    /// Writes lines of which the ends are not important. They are cut at the width of the page.
    pub fn cut_lines(&mut self, lines: &[String]) -> io::Result<()> {
        let limit = self.width.limit().unwrap_or(usize::MAX);
        let mut lines = lines.iter().map(|line| text::cut(&escaped(line), limit));
        lines.try_for_each(|line| self.line(&line))
    }

    /// Writes a text at the left and a text at the right edge. If there is no room for both, the right text
    /// begins a line of its own.
    pub fn spread(&mut self, left: &str, right: &str) -> io::Result<()> {
        self.spread_with_note(left, right, "")
    }

    /// Like [`Self::spread`], with a note to the right of the edge.
    pub fn spread_with_note(&mut self, left: &str, right: &str, note: &str) -> io::Result<()> {
        let line = text::spread(left, right, self.width.edge()) + note;
        if self.width.fits(text::columns(&line)) {
            return self.line(&line);
        }
        let spaces = left.len() - left.trim_start_matches(' ').len();
        self.line(left)?;
        self.line(&format!("{:indent$}{right}{note}", "", indent = spaces + 4))
    }

    /// Writes items, on as many lines as necessary. All lines but the first begin with `indent`.
    pub fn list(
        &mut self,
        first: &str,
        indent: &str,
        separator: &str,
        items: &[String],
    ) -> io::Result<()> {
        let list = List {
            first,
            indent,
            separator,
            items,
        };
        self.lines(&list.lines(self.width.of_lists()))
    }

    /// Writes a sentence, wrapped into lines. All lines but the first begin with `indent`.
    pub fn sentence(&mut self, first: &str, indent: &str, sentence: &str) -> io::Result<()> {
        let list = List {
            first,
            indent,
            separator: " ",
            items: &text::words(sentence),
        };
        self.lines(&list.lines(self.width.of_sentences()))
    }

    /// Writes a table. `below` writes what follows the row of this index.
    pub fn table(
        &mut self,
        heads: &[Column],
        rows: &[Vec<String>],
        mut below: impl FnMut(&mut Self, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let table = table::layout(heads, rows, self.width);
        self.lines(&table.heading)?;
        for (at, row) in table.rows.iter().enumerate() {
            self.lines(row)?;
            below(self, at)?;
        }
        Ok(())
    }

    /// Writes an empty line.
    pub fn gap(&mut self) -> io::Result<()> {
        self.format.gap()
    }

    /// Begins a section that has no verdict. A long title is wrapped into lines.
    pub fn title(&mut self, title: &str) -> io::Result<()> {
        self.format.title(escaped(title).trim_end())
    }

    /// Begins a section with a word in the colour of its severity.
    pub fn headline(&mut self, word: &str, rest: &str) -> io::Result<()> {
        self.spread_headline(word, rest, "")
    }

    /// Like [`Self::headline`], with a text at the right edge.
    pub fn spread_headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        self.format.headline(word, &escaped(rest), right)
    }

    /// Whether to suggest commands at the end of the page.
    pub fn has_hints(&self) -> bool {
        self.format.has_hints()
    }

    /// Ends the page.
    pub fn end(mut self) -> io::Result<()> {
        self.format.end()
    }
}
