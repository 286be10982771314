//! Draws a timeline as an SVG file that opens from disk and is readable without scripts.

mod arrows;
pub mod captions;
mod frame;
mod hidden;
mod row;
mod summary;
mod threads;

use anyhow::{Result, bail};
use ctp_trace::model::Blocks;

use crate::findings::crash::Crash;
use crate::load::Model;
use crate::names::Names;
use crate::text::units;
use crate::text::xml::escape;
use crate::time_scale::Scale;
use crate::views::timeline::model::{self, Arrows, Row, RowCandidate, ShownRows, ShownThreads};

const STYLE: &str = include_str!("../../../assets/timeline.css");
const SCRIPT: &str = concat!(
    include_str!("../../../assets/timeline-fit.js"),
    include_str!("../../../assets/timeline.js")
);

/// The width of the picture, and the left edge, right edge and width of the rows, in SVG units.
const WIDTH: u64 = 1380;
const LEFT: u64 = 330;
const RIGHT: u64 = LEFT + CHART;
const CHART: u64 = 900;

/// The maximum number of bars that have tooltips. The widest bars have them.
const MAX_SHOWN: usize = 4_000;

/// What is drawn.
pub struct TimelineChart<'a> {
    /// The trace.
    pub model: &'a Model,
    /// The names of sites and coroutines.
    pub names: &'a Names,
    /// The shown coroutines.
    pub selection: &'a ShownRows,
    /// Their rows, in the same order.
    pub rows: &'a [Row],
    /// The wakes between rows.
    pub arrows: &'a Arrows,
    /// Which coroutine blocks which at the end.
    pub blocks: &'a Blocks,
    /// The crash of the program, if any.
    pub crash: Option<&'a Crash>,
    /// The shown time.
    pub scale: Scale,
    /// The number of threads on which coroutines ran.
    pub threads: u64,
    /// The shown threads that recorded events of their own, such as wakes.
    pub lives: &'a ShownThreads,
}

impl TimelineChart<'_> {
    /// The crash, if `member` ran on the crashed thread.
    fn crash_of(&self, member: &RowCandidate) -> Option<&Crash> {
        self.crash.filter(|crash| {
            crash
                .culprit()
                .is_some_and(|culprit| culprit.id == member.id.0)
        })
    }
}

/// A drawn timeline.
pub struct Drawn {
    /// The SVG file.
    pub svg: String,
    /// How many coroutines are shown, and how many are stuck: `12 of 500 coroutines, 3 stuck`.
    pub about: String,
}

/// Draws the picture.
///
/// # Errors
/// If there is no coroutine to draw.
pub fn draw(chart: &TimelineChart, title: Option<&str>) -> Result<Drawn> {
    if chart.rows.is_empty() {
        bail!("no coroutine lived in that time, so there is nothing to draw: give another --time");
    }
    Ok(Drawn {
        svg: file(chart, title),
        about: about(chart.selection),
    })
}

fn about(selection: &ShownRows) -> String {
    let total = units::counted(selection.total, "coroutine");
    let subject = if selection.grouped {
        format!("{} of {total}", units::grouped(selection.shown() as u64))
    } else {
        total
    };
    match selection.stuck() {
        0 => subject,
        stuck => format!("{subject}, {} stuck", units::grouped(stuck)),
    }
}

/// Returns the SVG file.
fn file(chart: &TimelineChart, title: Option<&str>) -> String {
    let (head, top) = frame::head(chart, title);
    let (body, bottom) = body(chart, top + frame::AXIS);
    let (threads, bottom) = threads::draw(chart, bottom);
    let axes = frame::axes(&chart.scale, top, bottom);
    let height = bottom + frame::AXIS + 10;
    let Scale { from, to } = chart.scale;
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"graphics-document\" \
         aria-label=\"Timeline of {}\" data-from=\"{}\" data-to=\"{}\" data-left=\"{LEFT}\" \
         data-chart=\"{CHART}\">\n<style><![CDATA[\n{STYLE}]]></style>\n{}\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         {head}{axes}{body}{threads}{}<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n",
        escape(&about(chart.selection)),
        from.0,
        to.0,
        frame::PATTERNS,
        hidden::data(chart),
    )
}

/// Draws all rows below `y`, with headings if they are grouped. Returns the SVG and the y coordinate of the
/// lower edge.
fn body(chart: &TimelineChart, mut y: u64) -> (String, u64) {
    let few = chart.rows.len() <= 40;
    let style = row::Style {
        height: if few { 22 } else { 17 },
        inset: if few { 3 } else { 2 },
        min_tooltip_width: min_tooltip_width(chart),
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

/// The minimum width of a bar with a tooltip, so that at most [`MAX_SHOWN`] bars have tooltips.
fn min_tooltip_width(chart: &TimelineChart) -> u64 {
    let tracks = chart.rows.iter().flat_map(Row::tracks);
    let bars = tracks.flat_map(|track| model::bars(track, &chart.scale));
    let mut widths: Vec<u64> = bars.map(|bar| bar.width).collect();
    widths.sort_unstable_by_key(|width| std::cmp::Reverse(*width));
    widths.get(MAX_SHOWN).map_or(0, |width| width + 1)
}
