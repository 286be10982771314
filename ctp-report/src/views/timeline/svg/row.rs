//! Draws a row: the coroutine's name at the left, its activities in the middle, its state at the right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ctp_trace::record::{Nanos, WaitKind};
use ctp_trace::verdict::{Fact, Verdict};

use super::{CHART, LEFT, RIGHT, TimelineChart, captions};
use crate::text;
use crate::text::xml::escape;
use crate::time_scale::UNITS;
use crate::views::timeline::model::{
    self, Bar, BarStyle, MarkAuthor, PieceKind, PieceTrack, Row, RowCandidate, RowMark,
};

/// How many characters the name, id and place may have together, and the place if the name is long.
const NAME_CHARS: usize = 45;
const PLACE_CHARS: usize = 20;

/// The minimum width, in pixels, of a bar with a label, and of a bar with a tooltip.
const MIN_LABEL_WIDTH: u64 = 60;
const MIN_TOOLTIP_WIDTH: u64 = 4;

/// The width of the sign of a closed resource, and how far from the beginning of a bar such a sign
/// moves the label, in pixels.
const CLOSING_WIDTH: u64 = 3;
const CLOSING_ROOM: u64 = 150;

/// How many wakers of a row have a tooltip.
const MAX_WAKERS: usize = 16;

/// The width of a pixel, in units of the time axis.
const PIXEL: u64 = UNITS / CHART;

/// What all rows have in common.
pub struct Style {
    /// The height of a row.
    pub height: u64,
    /// The space for marks above and below the bars.
    pub inset: u64,
    /// The minimum width of a bar with a tooltip, on the time axis.
    pub min_tooltip_width: u64,
}

impl Style {
    fn lane(&self) -> u64 {
        self.height - 2
    }

    fn bar(&self) -> u64 {
        self.lane() - 2 * self.inset
    }
}

/// Draws a row with the upper edge at `y`.
pub fn draw(chart: &TimelineChart, row: &Row, style: &Style, y: u64) -> String {
    let member = &row.member;
    let name = captions::name(chart, member);
    let at = chart.names.at(member.site).unwrap_or_default();
    let place = chart.names.short(member.site).unwrap_or_default();
    let number = member.id.0.to_string().len();
    let room = NAME_CHARS.saturating_sub(number + text::columns(&name));
    let place = text::cut_middle(&place, room.max(PLACE_CHARS));
    let room = NAME_CHARS.saturating_sub(number + text::columns(&place));
    let state = captions::end(member);
    let function = captions::function(chart, member);
    let open = row
        .open
        .as_ref()
        .map(|piece| captions::open(chart, member, piece));
    let open = open.unwrap_or_default();
    let find = format!("{name} #{} {function} {at} {state} {open}", member.id.0).to_lowercase();
    let class = captions::row_class(chart, member);
    let base = y + style.height / 2 + 4;
    format!(
        "<g class=\"row of-{class}\" role=\"graphics-object\" aria-label=\"{}\" data-find=\"{}\">\
         <title>{}</title>\
         <rect class=\"hit\" x=\"5\" y=\"{y}\" width=\"{}\" height=\"{}\"/>\
         <text class=\"name {class}\" x=\"10\" y=\"{base}\">{} <tspan class=\"id\">#{}</tspan></text>\
         <text class=\"place\" x=\"{}\" y=\"{base}\">{}</text>\n{}{}{}</g>\n",
        escape(&format!("{name}, id {}, {state}", member.id.0)),
        escape(&find),
        escape(&captions::row(chart, row)),
        RIGHT + 125,
        style.height,
        escape(&text::cut(&name, room)),
        member.id.0,
        LEFT - 8,
        escape(&place),
        lane(chart, row, style, y),
        labels(chart, row, base),
        end(chart, row, class, base),
    )
}

/// Draws the bars and marks. Zooming stretches them.
fn lane(chart: &TimelineChart, row: &Row, style: &Style, y: u64) -> String {
    let height = style.lane();
    let mut layers = row.tracks().map(|track| layer(chart, row, track, style));
    let far = layers.next().unwrap_or_default();
    let bars = match layers.next() {
        None => far,
        Some(near) => format!("<g class=\"far\">{far}</g>\n<g class=\"near\">{near}</g>\n"),
    };
    let open = open_bar(chart, row).map(|bar| {
        let tooltip = captions::open_with_blockers(chart, &row.member, &bar.piece);
        rect(&bar, style, &tooltip)
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
        edge(death(&row.member), row.death(&chart.scale)),
        crash(chart, &row.member, height),
    )
}

/// The class of the mark at the end of a coroutine.
fn death(member: &RowCandidate) -> &'static str {
    match member.fact {
        Fact::Cancelled => "cancelled",
        _ => "death",
    }
}

/// Draws the crash of the coroutine, if in the shown time.
fn crash(chart: &TimelineChart, member: &RowCandidate, height: u64) -> String {
    let crash = chart.crash_of(member);
    let Some(crash) = crash.filter(|_| chart.scale.has(member.until)) else {
        return String::new();
    };
    let x = chart.scale.x(member.until);
    let tooltip = escape(&captions::crash(crash, member));
    format!("<path class=\"crash\" d=\"M{x} 0v{height}\"><title>{tooltip}</title></path>")
}

/// Draws bars, and the marks above and below.
fn layer(chart: &TimelineChart, row: &Row, track: &PieceTrack, style: &Style) -> String {
    let (height, mark) = (style.lane(), style.lane() / 3);
    let scale = &chart.scale;
    let bars = bars(chart, &bars_of(chart, track), style);
    let moves = model::visible_marks(&row.moves, track).map(|mark| scale.x(mark.at));
    let moves = marks("moves", &moves.collect::<Vec<_>>(), height - mark, mark);
    bars + &moves + &wakes(chart, &model::wakes(row, track, scale), mark)
}

/// Draws the wakes by waker, each with a tooltip. Wakers beyond the limit share marks without a
/// tooltip.
fn wakes(chart: &TimelineChart, all: &[RowMark], height: u64) -> String {
    let mut wakers: BTreeMap<Option<MarkAuthor>, Vec<u64>> = BTreeMap::new();
    for mark in all {
        let has_room = wakers.len() < MAX_WAKERS || wakers.contains_key(&mark.by);
        let by = mark.by.filter(|_| has_room);
        wakers.entry(by).or_default().push(chart.scale.x(mark.at));
    }
    let drawn = wakers.iter().map(|(by, places)| match by {
        Some(by) => {
            let tooltip = format!("woken by {}", captions::by(chart, by));
            marks_with_tooltip("wakes", places, height, &tooltip)
        }
        None => marks("wakes", places, 0, height),
    });
    drawn.collect()
}

/// Draws the closings of awaited resources, each from the upper to the lower edge of the row.
fn closes(chart: &TimelineChart, row: &Row, height: u64) -> String {
    let closes = row.closes.all().iter().map(|mark| {
        let message = captions::closed(chart, mark);
        closing(chart.scale.x(mark.at), 0, height, &message)
    });
    closes.collect()
}

/// Draws the sign of a closed resource: yellow on black, which is visible on every colour.
pub fn closing(x: u64, y: u64, height: u64, message: &str) -> String {
    format!(
        "<g class=\"closes\"><title>{}</title>{}{}</g>",
        escape(message),
        marks("under", &[x], y, height),
        marks("over", &[x], y, height)
    )
}

fn marks_with_tooltip(class: &str, places: &[u64], height: u64, tooltip: &str) -> String {
    let title = format!("><title>{}</title></path>", escape(tooltip));
    marks(class, places, 0, height).replace("/>", &title)
}

/// The bars of a track, with the style of their leaf futures.
fn bars_of(chart: &TimelineChart, track: &PieceTrack) -> Vec<Bar> {
    let bars = model::bars(track, &chart.scale).into_iter();
    bars.map(|bar| styled(chart, bar)).collect()
}

/// The bar of the open activity at the end.
fn open_bar(chart: &TimelineChart, row: &Row) -> Option<Bar> {
    model::open(row, &chart.scale).map(|bar| styled(chart, bar))
}

fn styled(chart: &TimelineChart, bar: Bar) -> Bar {
    match (bar.style, bar.piece.activity) {
        (BarStyle::Unrecorded, PieceKind::Waits(site, WaitKind::Unknown, _)) => Bar {
            style: model::of_leaf(chart.model.trace_model.leaf_kind_at(site)),
            ..bar
        },
        _ => bar,
    }
}

/// Draws wide bars separately, with tooltips, and thin bars of the same style as a single path.
fn bars(chart: &TimelineChart, bars: &[Bar], style: &Style) -> String {
    let (inset, height) = (style.inset, style.bar());
    let min_width = style.min_tooltip_width.max(MIN_TOOLTIP_WIDTH * PIXEL);
    let mut thin: BTreeMap<BarStyle, String> = BTreeMap::new();
    let mut drawn = String::new();
    for bar in bars {
        if min_width <= bar.width {
            drawn += &rect(bar, style, &captions::piece(chart, &bar.piece));
        } else {
            let path = thin.entry(bar.style).or_default();
            let (x, width) = (bar.x, bar.width);
            let _ = write!(path, "M{x} {inset}h{width}v{height}h-{width}z");
        }
    }
    // Runs and losses are drawn last, so that adjacent waits do not cover their outlines.
    let mut thin: Vec<(BarStyle, String)> = thin.into_iter().collect();
    thin.sort_by_key(|(style, _)| matches!(style, BarStyle::Runs | BarStyle::Lost));
    for (style, path) in thin {
        let _ = write!(drawn, "<path class=\"{}\" d=\"{path}\"/>", class(style));
    }
    drawn
}

fn rect(bar: &Bar, style: &Style, tooltip: &str) -> String {
    format!(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        class(bar.style),
        bar.x,
        style.inset,
        bar.width,
        style.bar(),
        escape(tooltip)
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

/// Draws labels in wide bars. When zooming, the script moves the labels, and hides labels that do not
/// fit.
fn labels(chart: &TimelineChart, row: &Row, base: u64) -> String {
    let mut drawn = String::new();
    let bars = bars_of(chart, &row.far);
    for bar in bars
        .iter()
        .filter(|bar| MIN_LABEL_WIDTH * PIXEL <= bar.width)
    {
        if let Some(words) = captions::label(chart, &bar.piece) {
            drawn += &label(bar, bar.x, base, &words);
        }
    }
    if let Some(bar) = open_bar(chart, row) {
        let words = captions::open(chart, &row.member, &bar.piece);
        let from = after_closings(chart, row, &bar);
        drawn += &label(&bar, from, base, &words);
    }
    drawn
}

/// Where the label of a bar begins, so that no sign of a closed resource near the beginning covers
/// the label.
fn after_closings(chart: &TimelineChart, row: &Row, bar: &Bar) -> u64 {
    let near = bar.x..=bar.x + CLOSING_ROOM * PIXEL;
    let all = row.closes.all().iter();
    let signs = all
        .map(|mark| chart.scale.x(mark.at))
        .filter(|x| near.contains(x));
    let last = signs.max();
    last.map_or(bar.x, |x| {
        (x + CLOSING_WIDTH * PIXEL).min(bar.x + bar.width)
    })
}

/// Draws a label that begins at `from`, on the time axis.
fn label(bar: &Bar, from: u64, base: u64, words: &str) -> String {
    let tone = match bar.style {
        BarStyle::Lost => "over",
        BarStyle::Stuck | BarStyle::Runs => "light",
        _ => "dark",
    };
    let to = bar.x + bar.width;
    let fits = (text::columns(words) as u64 * 6 + 10) * PIXEL <= to - from;
    let unseen = if fits { "" } else { " unseen" };
    let x = LEFT + from * CHART / UNITS + 5;
    format!(
        "<text class=\"in {tone}{unseen}\" x=\"{x}\" y=\"{base}\" data-a=\"{from}\" \
         data-b=\"{to}\">{}</text>\n",
        escape(words)
    )
}

/// Draws the state at the right end: a sign and a word.
fn end(chart: &TimelineChart, row: &Row, class: &str, base: u64) -> String {
    let word = match chart.crash_of(&row.member) {
        Some(crash) => crash.signal.clone(),
        None => captions::end(&row.member),
    };
    let class = match row.member.fact {
        Fact::Cancelled => "cancelled",
        _ => class,
    };
    format!(
        "{}<text class=\"end {class}\" x=\"{}\" y=\"{base}\">{}</text>",
        sign(chart, row, class, base - 10),
        RIGHT + 16,
        escape(&word)
    )
}

/// Draws an arrow for a stuck or busy coroutine, and a star for a crash.
fn sign(chart: &TimelineChart, row: &Row, class: &str, y: u64) -> String {
    if chart.crash_of(&row.member).is_some() {
        return burst(RIGHT + 1, y);
    }
    if row.open.is_some() && row.member.verdict < Verdict::Unknown {
        return format!("<path class=\"arrow {class}\" d=\"M{RIGHT} {y}l10 6l-10 6z\"/>");
    }
    String::new()
}

/// Draws the sign of a crash: a star of 12 by 12 pixels.
pub fn burst(x: u64, y: u64) -> String {
    format!(
        "<path class=\"burst\" d=\"M{x} {y}l4 3l2 -3l2 3l4 -3l-2 6l2 6l-4 -3l-2 3l-2 -3l-4 3l2 -6z\"/>"
    )
}

fn class(style: BarStyle) -> &'static str {
    match style {
        BarStyle::Born => "born",
        BarStyle::Runs => "runs",
        BarStyle::Fd => "fd",
        BarStyle::Timer => "timer",
        BarStyle::Lock => "lock",
        BarStyle::Channel => "channel",
        BarStyle::Notification => "notification",
        BarStyle::Join => "join",
        BarStyle::Turn => "turn",
        BarStyle::Unrecorded => "untold",
        BarStyle::Mixed(0) => "m0",
        BarStyle::Mixed(1) => "m1",
        BarStyle::Mixed(2) => "m2",
        BarStyle::Mixed(3) => "m3",
        BarStyle::Mixed(_) => "m4",
        BarStyle::Lost => "lost",
        BarStyle::Stuck => "stuck",
        BarStyle::Busy => "busy",
    }
}
