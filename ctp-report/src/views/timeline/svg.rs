//! Draws a timeline: a picture that opens from disk, and can be read without script.

mod arrows;
pub mod captions;
mod frame;
mod row;
mod summary;
mod threads;

use std::io::Write;

use anyhow::{Result, bail};
use ctp_trace::trace_model::Blocks;

use crate::config::TimelineView;
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::Names;
use crate::output;
use crate::text::units;
use crate::time_scale::Scale;
use crate::views::timeline::model::{self, Arrows, Member, Row, Selection, Shown};

const STYLE: &str = include_str!("../../../assets/timeline.css");
const SCRIPT: &str = include_str!("../../../assets/timeline.js");

/// Width of the picture, and where the lanes begin and end in it.
const WIDTH: u64 = 1380;
const LEFT: u64 = 330;
const RIGHT: u64 = LEFT + CHART;
const CHART: u64 = 900;

/// Bars with a tooltip of their own that a picture may have: the widest.
const MAX_SHOWN: usize = 4_000;

/// All that is drawn.
pub struct Chart<'a> {
    /// The trace.
    pub model: &'a Model,
    /// What places are called.
    pub names: &'a Names,
    /// Who is shown, and of how many.
    pub selection: &'a Selection,
    /// What they did, in the same order.
    pub rows: &'a [Row],
    /// How they woke each other.
    pub arrows: &'a Arrows,
    /// Who keeps whom at the end.
    pub blocks: &'a Blocks,
    /// The crash, if the program had one.
    pub crash: Option<&'a Crash>,
    /// The time that is shown.
    pub scale: Scale,
    /// On how many threads.
    pub threads: u64,
    /// Those threads that told of themselves.
    pub lives: &'a Shown,
}

impl Chart<'_> {
    /// The crash, if it came from the thread that this one ran on.
    fn crash_of(&self, member: &Member) -> Option<&Crash> {
        let is_match = |crash: &&Crash| {
            crash
                .culprit()
                .is_some_and(|suspect| suspect.id == member.id.0)
        };
        self.crash.filter(is_match)
    }
}

/// Writes the picture; returns what there is to say of it, unless it went to standard output.
///
/// # Errors
/// If there is nobody to draw, or the file cannot be written.
pub fn write(chart: &Chart, view: &TimelineView, out: &mut dyn Write) -> Result<Option<String>> {
    let selection = chart.selection;
    if chart.rows.is_empty() {
        bail!("nobody lived in that time, so there is nothing to draw: give another --time");
    }
    let path = view.svg.display();
    let drawn = draw(chart, view.title.as_deref());
    let is_file = output::save(&view.svg, drawn.as_bytes(), out)?;
    let subject = match selection.grouped {
        true => format!(
            "{} of {}",
            units::grouped(selection.shown() as u64),
            units::counted(selection.total, "coroutine")
        ),
        false => units::counted(selection.total, "coroutine"),
    };
    let stuck = match selection.stuck() {
        0 => String::new(),
        stuck => format!(", {} stuck", units::grouped(stuck)),
    };
    let message = || format!("wrote {path} ({subject}{stuck}); open it in a browser");
    Ok(is_file.then(message))
}

/// The whole file.
fn draw(chart: &Chart, title: Option<&str>) -> String {
    let (head, top) = frame::head(chart, title);
    let (body, bottom) = body(chart, top + frame::AXIS);
    let (threads, bottom) = threads::draw(chart, bottom);
    let axes = frame::axes(&chart.scale, top, bottom);
    let height = bottom + frame::AXIS + 10;
    let Scale { from, to } = chart.scale;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" data-from=\"{}\" data-to=\"{}\" data-left=\"{LEFT}\" \
         data-chart=\"{CHART}\">\n<style><![CDATA[\n{STYLE}]]></style>\n{}\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         {head}{axes}{body}{threads}<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n",
        from.0,
        to.0,
        frame::PATTERNS,
    )
}

/// All rows, under the headings of their groups if there are so many; and where they end.
fn body(chart: &Chart, mut y: u64) -> (String, u64) {
    let few = chart.rows.len() <= 40;
    let style = row::Style {
        height: if few { 22 } else { 17 },
        inset: if few { 3 } else { 2 },
        reported: reported(chart),
    };
    let mut edges = Vec::new();
    let mut drawn = String::new();
    let mut rows = chart.rows.iter();
    for group in &chart.selection.groups {
        if chart.selection.grouped {
            drawn += &frame::heading(chart, group, y + 6);
            y += 6 + frame::HEADING;
        }
        for row in rows.by_ref().take(group.members.len()) {
            drawn += &row::draw(chart, row, &style, y);
            edges.push(y);
            y += style.height;
        }
    }
    drawn += &arrows::draw(chart, &edges, style.height);
    (drawn, y)
}

/// The least width of a bar that has a tooltip, so that they are not too many.
fn reported(chart: &Chart) -> u64 {
    let tracks = chart.rows.iter().flat_map(Row::tracks);
    let bars = tracks.flat_map(|track| model::bars(track, &chart.scale));
    let mut widths: Vec<u64> = bars.map(|bar| bar.width).collect();
    widths.sort_unstable_by_key(|width| std::cmp::Reverse(*width));
    widths.get(MAX_SHOWN).map_or(0, |width| width + 1)
}
