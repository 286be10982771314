//! A page of text, in one of several formats: for a terminal, as Markdown, or as a part of an HTML file.

mod html;
mod markdown;
mod terminal;

use std::io::{self, Write};

use ctp_trace::escape::escaped;

use crate::text;

pub use html::Sections;

/// Writes a page. Lines are cut to the page width and contain no control sequences except colours. Names
/// and paths come from the program and are not trusted.
pub struct Page<'a> {
    format: Box<dyn PageFormat + 'a>,
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

    /// Whether the reader of the page can run the commands that the page suggests.
    fn has_hints(&self) -> bool {
        false
    }

    /// The end of the page.
    fn end(&mut self) -> io::Result<()>;
}

impl<'a> Page<'a> {
    /// Creates an empty page for a terminal, with coloured verdicts.
    pub fn terminal(out: &'a mut dyn Write) -> Self {
        Page {
            format: Box::new(terminal::Terminal(out)),
        }
    }

    /// Creates a page in Markdown that has only a title.
    pub fn markdown(out: &'a mut dyn Write, title: &str) -> io::Result<Self> {
        Ok(Page {
            format: Box::new(markdown::Markdown::new(out, &escaped(title))?),
        })
    }

    /// Creates an empty page as elements of an HTML file.
    pub fn html(sections: &'a mut Sections) -> Self {
        Page {
            format: Box::new(sections),
        }
    }

    /// Writes a line.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        let line = text::cut(&escaped(line), text::WIDTH);
        self.format.line(line.trim_end())
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
        let room = text::WIDTH.saturating_sub(text::columns(word));
        let rest = text::cut(&escaped(rest), room);
        self.format.headline(word, &rest, right)
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
