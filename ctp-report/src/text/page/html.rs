//! Pages as elements of an HTML file.

use std::io;

use super::{ContextLines, PageFormat};
use crate::text::xml;

/// The sections of a page: HTML elements with the class of their severity.
#[derive(Debug, Default)]
pub struct Sections {
    html: String,
    lines: Vec<String>,
    is_open: bool,
}

impl Sections {
    /// The elements.
    pub fn into_html(self) -> String {
        self.html
    }

    /// Writes the collected lines.
    fn end_block(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        for paragraph in lines.split(String::is_empty) {
            if !paragraph.is_empty() {
                let lines: Vec<String> = paragraph.iter().map(|line| self::line(line)).collect();
                self.html += &format!("<pre>{}</pre>\n", lines.join("\n"));
            }
        }
    }

    fn end_section(&mut self) {
        self.end_block();
        if std::mem::take(&mut self.is_open) {
            self.html += "</section>\n";
        }
    }

    fn begin_section(&mut self, class: &str, heading: &str) {
        self.end_section();
        self.is_open = true;
        self.html += &format!("<section class=\"{class}\">\n<h2>{heading}</h2>\n");
    }
}

impl PageFormat for &mut Sections {
    fn line(&mut self, line: &str) -> io::Result<()> {
        self.lines.push(line.to_owned());
        Ok(())
    }

    fn gap(&mut self) -> io::Result<()> {
        self.line("")
    }

    fn title(&mut self, title: &str) -> io::Result<()> {
        let title = title.strip_suffix(':').unwrap_or(title);
        self.begin_section("calm", &xml::escape(title));
        Ok(())
    }

    fn headline(&mut self, word: &str, rest: &str, right: &str) -> io::Result<()> {
        let word_and_rest = format!("<b>{}</b>{}", xml::escape(word), xml::escape(rest));
        let right = match right {
            "" => String::new(),
            right => format!(" <span class=\"confidence\">{}</span>", xml::escape(right)),
        };
        self.begin_section(severity(word), &(word_and_rest + &right));
        Ok(())
    }

    fn context_lines(&self) -> ContextLines {
        ContextLines::MANY
    }

    fn end(&mut self) -> io::Result<()> {
        self.end_section();
        Ok(())
    }
}

/// The class of a section that begins with this word.
pub(crate) fn severity(word: &str) -> &'static str {
    match word {
        "DEADLOCK" | "STUCK" | "CRASH" | "BROKEN" => "bad",
        "STUCK?" | "BUSY" => "warn",
        "UNKNOWN" => "unsure",
        _ => "calm",
    }
}

/// A line as HTML. The marked line of a source excerpt is highlighted.
fn line(line: &str) -> String {
    let line_number = line
        .strip_prefix("  >")
        .and_then(|rest| rest.split(" | ").next());
    let is_marked = line_number.is_some_and(|number| number.trim().parse::<u32>().is_ok());
    let line = xml::escape(line);
    if is_marked {
        format!("<mark>{line}</mark>")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::Sections;
    use crate::text::Page;

    // CT-19
    #[test]
    fn sections_are_well_formed_and_escaped() {
        let mut sections = Sections::default();
        let mut page = Page::html(&mut sections);
        page.line("# <script>").unwrap();
        page.spread_headline("STUCK?", " 1 & 2", "LIKELY").unwrap();
        page.line("  >   88 | a < b").unwrap();
        page.gap().unwrap();
        page.title("WAITING, not stuck:").unwrap();
        page.end().unwrap();
        let expected = "<pre># &lt;script&gt;</pre>\n\
            <section class=\"warn\">\n\
            <h2><b>STUCK?</b> 1 &amp; 2 <span class=\"confidence\">LIKELY</span></h2>\n\
            <pre><mark>  &gt;   88 | a &lt; b</mark></pre>\n</section>\n\
            <section class=\"calm\">\n<h2>WAITING, not stuck</h2>\n</section>\n";
        assert_eq!(sections.into_html(), expected);
    }
}
