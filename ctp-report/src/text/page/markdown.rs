//! Pages in Markdown, to be pasted into an issue tracker.

use std::io::{self, Write};

use super::PageFormat;

/// A heading for each section, and the lines of the section in a code block.
pub(super) struct Markdown<'a> {
    out: &'a mut dyn Write,
    block: Vec<String>,
}

impl<'a> Markdown<'a> {
    /// Writes the title.
    pub fn new(out: &'a mut dyn Write, title: &str) -> io::Result<Self> {
        writeln!(out, "## {}\n", plain(title))?;
        Ok(Markdown {
            out,
            block: Vec::new(),
        })
    }

    /// Writes the collected lines as a code block. The fence is longer than any run of backticks in
    /// the lines, so that no line ends the block.
    fn end_block(&mut self) -> io::Result<()> {
        let lines = std::mem::take(&mut self.block);
        let written = |line: &String| !line.is_empty();
        let (Some(first), Some(last)) = (
            lines.iter().position(written),
            lines.iter().rposition(written),
        ) else {
            return Ok(());
        };
        let lines = &lines[first..=last];
        let longest = lines.iter().map(|line| longest_run(line, '`')).max();
        let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
        writeln!(self.out, "{fence}text")?;
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        writeln!(self.out, "{fence}\n")
    }
}

impl PageFormat for Markdown<'_> {
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.block.push(line.to_owned());
        Ok(())
    }

    fn gap(&mut self) -> io::Result<()> {
        self.line("")
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        self.end_block()?;
        let title = title.strip_suffix(':').unwrap_or(title);
        writeln!(self.out, "### {}\n", plain(title))
    }

    fn headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        let confidence = match right {
            "" => String::new(),
            right => format!(" ({right})"),
        };
        self.title(&format!("{word}{rest}{confidence}"))
    }

    fn end(&mut self) -> io::Result<()> {
        self.end_block()?;
        let version = env!("CARGO_PKG_VERSION");
        writeln!(self.out, "Written by ctp-report {version}.")
    }
}

/// Length of the longest run of a character.
fn longest_run(text: &str, of: char) -> usize {
    let runs = text.split(|c| c != of).map(str::len);
    runs.max().unwrap_or_default()
}

/// Escapes what Markdown would interpret.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_{}[]<>#|&~@!".contains(c) {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use crate::text::Page;

    fn written(write: impl FnOnce(&mut Page)) -> String {
        let mut out = Vec::new();
        let mut page = Page::markdown(&mut out, "T").unwrap();
        write(&mut page);
        page.end().unwrap();
        let page = String::from_utf8(out).unwrap();
        let (body, end) = page.rsplit_once("Written by").unwrap();
        assert!(end.starts_with(" ctp-report"));
        body.strip_prefix("## T\n\n").unwrap().to_owned()
    }

    // CT-19
    #[test]
    fn lines_cannot_end_the_code_block() {
        let page = written(|page| {
            page.line("```` <script>").unwrap();
            page.line("a").unwrap();
        });
        assert_eq!(page, "`````text\n```` <script>\na\n`````\n\n");
    }

    #[test]
    fn headings_show_markup_as_text() {
        let page = written(|page| page.headline("STUCK", " <b>*a*`b`[c](d)").unwrap());
        assert_eq!(page, "### STUCK \\<b\\>\\*a\\*\\`b\\`\\[c\\](d)\n\n");
    }

    #[test]
    fn sections_have_headings_and_blocks() {
        let page = written(|page| {
            page.line("# command: a").unwrap();
            page.gap().unwrap();
            page.spread_headline("STUCK", " 2 coroutines", "CERTAIN")
                .unwrap();
            page.gap().unwrap();
            page.line("  why").unwrap();
            page.title("WAITING, not stuck:").unwrap();
        });
        let expected = "```text\n# command: a\n```\n\n### STUCK 2 coroutines (CERTAIN)\n\n\
                        ```text\n  why\n```\n\n### WAITING, not stuck\n\n";
        assert_eq!(page, expected);
    }
}
