//! One row: who it is at the left, what it did in the middle, what became of it at the right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;

use super::{CHART, Chart, LEFT, RIGHT, captions};
use crate::text;
use crate::text::xml::escape;
use crate::time_scale::UNITS;
use crate::views::timeline::model::{self, Bar, By, Look, Mark, Member, Row, Track};

/// Columns for name, number and place, and for the place alone.
const NAME_CHARS: usize = 45;
const PLACE: usize = 20;

/// Least width, in pixels, of a bar with a label in it, and of one with a tooltip.
const LABELLED: u64 = 60;
const MAX_SHOWN: u64 = 4;

/// Sorts of wakes of one row that have a tooltip.
const SORTS: usize = 16;

/// A pixel on the line of time.
const PIXEL: u64 = UNITS / CHART;

/// What all rows have in common.
pub struct Style {
    /// From one row to the next.
    pub height: u64,
    /// Room for marks above and below the bars.
    pub inset: u64,
    /// The least width of a bar that has a tooltip.
    pub reported: u64,
}

impl Style {
    fn lane(&self) -> u64 {
        self.height - 2
    }

    fn bar(&self) -> u64 {
        self.lane() - 2 * self.inset
    }
}

/// Draws a row whose upper edge is at `y`.
pub fn draw(chart: &Chart, row: &Row, style: &Style, y: u64) -> String {
    let member = &row.member;
    let name = captions::name(chart, member);
    let at = chart.names.at(member.site).unwrap_or_default();
    let place = chart.names.short(member.site).unwrap_or_default();
    let place = text::cut_middle(&place, PLACE);
    let number = member.id.0.to_string().len();
    let room = NAME_CHARS.saturating_sub(number + text::columns(&place));
    let find = format!("{name} #{} {at}", member.id.0).to_lowercase();
    let class = captions::row_class(chart, member);
    let base = y + style.height / 2 + 4;
    format!(
        "<g class=\"row\" data-find=\"{}\"><title>{}</title>\
         <rect class=\"hit\" x=\"5\" y=\"{y}\" width=\"{}\" height=\"{}\"/>\
         <text class=\"name {class}\" x=\"10\" y=\"{base}\">{} <tspan class=\"id\">#{}</tspan></text>\
         <text class=\"place\" x=\"{}\" y=\"{base}\">{}</text>\n{}{}{}</g>\n",
        escape(&find),
        escape(&captions::row(chart, row)),
        RIGHT + 125,
        style.height,
        escape(&text::cut(&name, room)),
        member.id.0,
        LEFT - 8,
        escape(&place),
        strip(chart, row, style, y),
        labels(chart, row, base),
        end(chart, row, class, base),
    )
}

/// The bars and marks; they are stretched when zoomed.
fn strip(chart: &Chart, row: &Row, style: &Style, y: u64) -> String {
    let height = style.lane();
    let mut layers = row.tracks().map(|track| layer(chart, row, track, style));
    let far = layers.next().unwrap_or_default();
    let bars = match layers.next() {
        None => far,
        Some(near) => format!("<g class=\"far\">{far}</g>\n<g class=\"near\">{near}</g>\n"),
    };
    let open = model::open(row, &chart.scale).map(|bar| {
        let reported = captions::open_at_length(chart, &row.member, &bar.piece);
        rect(&bar, style, &reported)
    });
    let edge = |class, at: Option<Nanos>| {
        let place = at.map(|at| chart.scale.x(at));
        marks(class, place.as_slice(), 0, height)
    };
    let born = Some(row.member.born).filter(|at| chart.scale.has(*at));
    format!(
        "<svg class=\"lane\" x=\"{LEFT}\" y=\"{}\" width=\"{CHART}\" height=\"{height}\" \
         viewBox=\"0 0 {UNITS} {height}\" preserveAspectRatio=\"none\">{bars}{}{}{}{}{}</svg>\n",
        y + 1,
        open.unwrap_or_default(),
        closes(chart, row, height),
        edge("birth", born),
        edge("death", row.death(&chart.scale)),
        crash(chart, &row.member, height),
    )
}

/// Where a fault ended what it did, if that is in sight.
fn crash(chart: &Chart, member: &Member, height: u64) -> String {
    let seen = chart.crash_of(member);
    let Some(crash) = seen.filter(|_| chart.scale.has(member.until)) else {
        return String::new();
    };
    let (x, reported) = (chart.scale.x(member.until), captions::crash(crash, member));
    let reported = escape(&reported);
    format!("<path class=\"crash\" d=\"M{x} 0v{height}\"><title>{reported}</title></path>")
}

/// Bars, and the marks above and below them.
fn layer(chart: &Chart, row: &Row, track: &Track, style: &Style) -> String {
    let (height, mark) = (style.lane(), style.lane() / 3);
    let scale = &chart.scale;
    let bars = bars(chart, &model::bars(track, scale), style);
    let moves = model::seen(&row.moves, track).map(|mark| scale.x(mark.at));
    let moves = marks("moves", &moves.collect::<Vec<_>>(), height - mark, mark);
    bars + &moves + &wakes(chart, &model::wakes(row, track, scale), mark)
}

/// Those by one thread at one place together, with a tooltip, if they are not too many sorts.
fn wakes(chart: &Chart, all: &[Mark], height: u64) -> String {
    let mut sorts: BTreeMap<Option<By>, Vec<u64>> = BTreeMap::new();
    for mark in all {
        let has_room = sorts.len() < SORTS || sorts.contains_key(&mark.by);
        let by = mark.by.filter(|_| has_room);
        sorts.entry(by).or_default().push(chart.scale.x(mark.at));
    }
    let drawn = sorts.iter().map(|(by, places)| match by {
        Some(by) => {
            let message = format!("woken by {}", captions::by(chart, by));
            reported("wakes", places, height, &message)
        }
        None => marks("wakes", places, 0, height),
    });
    drawn.collect()
}

/// The ends of what it waited for, from edge to edge.
fn closes(chart: &Chart, row: &Row, height: u64) -> String {
    let sign = |mark: &Mark| {
        let message = captions::closed(chart, mark);
        closing(chart.scale.x(mark.at), 0, height, &message)
    };
    row.closes.all().iter().map(sign).collect()
}

/// The sign of a closed resource: yellow on black, so that it is seen on every colour.
pub fn closing(x: u64, y: u64, height: u64, message: &str) -> String {
    let path = |class| marks(class, &[x], y, height);
    format!(
        "<g class=\"closes\"><title>{}</title>{}{}</g>",
        escape(message),
        path("under"),
        path("over")
    )
}

/// Marks with a tooltip.
fn reported(class: &str, places: &[u64], height: u64, message: &str) -> String {
    let title = format!("><title>{}</title></path>", escape(message));
    marks(class, places, 0, height).replace("/>", &title)
}

/// Wide bars one by one, with tooltips; thin ones of the same look together.
fn bars(chart: &Chart, bars: &[Bar], style: &Style) -> String {
    let (inset, height) = (style.inset, style.bar());
    let reported = style.reported.max(MAX_SHOWN * PIXEL);
    let mut thin: BTreeMap<Look, String> = BTreeMap::new();
    let mut drawn = String::new();
    for bar in bars {
        if reported <= bar.width {
            drawn += &rect(bar, style, &captions::piece(chart, &bar.piece));
        } else {
            let path = thin.entry(bar.look).or_default();
            let (x, width) = (bar.x, bar.width);
            let _ = write!(path, "M{x} {inset}h{width}v{height}h-{width}z");
        }
    }
    // What ran is drawn last, so that the waits beside it do not cover its outline.
    let order = |look: &Look| matches!(look, Look::Runs | Look::Lost);
    for last in [false, true] {
        for (look, path) in thin.iter().filter(|(look, _)| order(look) == last) {
            let _ = write!(drawn, "<path class=\"{}\" d=\"{path}\"/>", class(*look));
        }
    }
    drawn
}

fn rect(bar: &Bar, style: &Style, reported: &str) -> String {
    format!(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        class(bar.look),
        bar.x,
        style.inset,
        bar.width,
        style.bar(),
        escape(reported)
    )
}

fn marks(class: &str, places: &[u64], y: u64, height: u64) -> String {
    if places.is_empty() {
        return String::new();
    }
    let path: String = places
        .iter()
        .map(|x| format!("M{x} {y}v{height}"))
        .collect();
    format!("<path class=\"{class}\" d=\"{path}\"/>")
}

/// Words in wide bars. The script moves them when zoomed; those that do not fit are not seen.
fn labels(chart: &Chart, row: &Row, base: u64) -> String {
    let mut drawn = String::new();
    let wide = |bar: &&Bar| LABELLED * PIXEL <= bar.width;
    let bars = model::bars(&row.far, &chart.scale);
    for bar in bars.iter().filter(wide) {
        if let Some(words) = captions::label(chart, &bar.piece) {
            drawn += &label(bar, base, &words);
        }
    }
    if let Some(bar) = model::open(row, &chart.scale) {
        drawn += &label(&bar, base, &captions::open(chart, &row.member, &bar.piece));
    }
    drawn
}

fn label(bar: &Bar, base: u64, words: &str) -> String {
    let tone = match bar.look {
        Look::Lost => "over",
        Look::Stuck | Look::Runs => "light",
        _ => "dark",
    };
    let fits = (text::columns(words) as u64 * 6 + 10) * PIXEL <= bar.width;
    let unseen = if fits { "" } else { " unseen" };
    let x = LEFT + bar.x * CHART / UNITS + 5;
    let (from, to) = (bar.x, bar.x + bar.width);
    format!(
        "<text class=\"in {tone}{unseen}\" x=\"{x}\" y=\"{base}\" data-a=\"{from}\" \
         data-b=\"{to}\">{}</text>\n",
        escape(words)
    )
}

/// What became of it: a sign, and a word for the state.
fn end(chart: &Chart, row: &Row, class: &str, base: u64) -> String {
    let word = match chart.crash_of(&row.member) {
        Some(crash) => crash.signal.clone(),
        None => captions::end(&row.member),
    };
    format!(
        "{}<text class=\"end {class}\" x=\"{}\" y=\"{base}\">{}</text>",
        sign(chart, row, class, base - 10),
        RIGHT + 16,
        escape(&word)
    )
}

/// An open end points on, and a crash bursts.
fn sign(chart: &Chart, row: &Row, class: &str, y: u64) -> String {
    if chart.crash_of(&row.member).is_some() {
        return burst(RIGHT + 1, y);
    }
    if row.open.is_some() && row.member.verdict < Verdict::Unknown {
        return format!("<path class=\"arrow {class}\" d=\"M{RIGHT} {y}l10 6l-10 6z\"/>");
    }
    String::new()
}

/// The sign of a crash: a star, 12 wide and high.
pub fn burst(x: u64, y: u64) -> String {
    format!(
        "<path class=\"burst\" d=\"M{x} {y}l4 3l2 -3l2 3l4 -3l-2 6l2 6l-4 -3l-2 3l-2 -3l-4 3l2 -6z\"/>"
    )
}

fn class(look: Look) -> &'static str {
    match look {
        Look::Born => "born",
        Look::Runs => "runs",
        Look::Fd => "fd",
        Look::Timer => "timer",
        Look::Others => "others",
        Look::Turn => "turn",
        Look::Unrecorded => "untold",
        Look::Mixed(0) => "m0",
        Look::Mixed(1) => "m1",
        Look::Mixed(2) => "m2",
        Look::Mixed(3) => "m3",
        Look::Mixed(_) => "m4",
        Look::Lost => "lost",
        Look::Stuck => "stuck",
        Look::Busy => "busy",
    }
}
