//! One row: who it is at the left, what it did in the middle, what became of it at the right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;

use super::{CHART, LEFT, Picture, RIGHT, captions};
use crate::text;
use crate::text::xml::escape;
use crate::time_scale::UNITS;
use crate::views::timeline::model::{self, Bar, By, Look, Mark, Member, Row, Track};

/// Columns for name, number and place, and for the place alone.
const WHO: usize = 45;
const PLACE: usize = 20;

/// Least width, in pixels, of a bar with a label in it, and of one with a tooltip.
const LABELLED: u64 = 60;
const TOLD: u64 = 4;

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
    pub told: u64,
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
pub fn draw(picture: &Picture, row: &Row, style: &Style, y: u64) -> String {
    let member = &row.member;
    let name = captions::name(picture, member);
    let at = picture.names.at(member.site).unwrap_or_default();
    let place = picture.names.short(member.site).unwrap_or_default();
    let place = text::cut_middle(&place, PLACE);
    let number = member.id.0.to_string().len();
    let room = WHO.saturating_sub(number + text::columns(&place));
    let find = format!("{name} #{} {at}", member.id.0).to_lowercase();
    let class = captions::row_class(picture, member);
    let base = y + style.height / 2 + 4;
    format!(
        "<g class=\"row\" data-find=\"{}\"><title>{}</title>\
         <rect class=\"hit\" x=\"5\" y=\"{y}\" width=\"{}\" height=\"{}\"/>\
         <text class=\"name {class}\" x=\"10\" y=\"{base}\">{} <tspan class=\"id\">#{}</tspan></text>\
         <text class=\"place\" x=\"{}\" y=\"{base}\">{}</text>\n{}{}{}</g>\n",
        escape(&find),
        escape(&captions::row(picture, row)),
        RIGHT + 125,
        style.height,
        escape(&text::cut(&name, room)),
        member.id.0,
        LEFT - 8,
        escape(&place),
        strip(picture, row, style, y),
        labels(picture, row, base),
        end(picture, row, class, base),
    )
}

/// The bars and marks; they are stretched when zoomed.
fn strip(picture: &Picture, row: &Row, style: &Style, y: u64) -> String {
    let height = style.lane();
    let mut layers = row.tracks().map(|track| layer(picture, row, track, style));
    let far = layers.next().unwrap_or_default();
    let bars = match layers.next() {
        None => far,
        Some(near) => format!("<g class=\"far\">{far}</g>\n<g class=\"near\">{near}</g>\n"),
    };
    let open = model::open(row, &picture.scale).map(|bar| {
        let told = captions::open_at_length(picture, &row.member, &bar.piece);
        rect(&bar, style, &told)
    });
    let edge = |class, at: Option<Nanos>| {
        let place = at.map(|at| picture.scale.x(at));
        marks(class, place.as_slice(), 0, height)
    };
    let born = Some(row.member.born).filter(|at| picture.scale.has(*at));
    format!(
        "<svg class=\"lane\" x=\"{LEFT}\" y=\"{}\" width=\"{CHART}\" height=\"{height}\" \
         viewBox=\"0 0 {UNITS} {height}\" preserveAspectRatio=\"none\">{bars}{}{}{}{}{}</svg>\n",
        y + 1,
        open.unwrap_or_default(),
        closes(picture, row, height),
        edge("birth", born),
        edge("death", row.death(&picture.scale)),
        crash(picture, &row.member, height),
    )
}

/// Where a fault ended what it did, if that is in sight.
fn crash(picture: &Picture, member: &Member, height: u64) -> String {
    let seen = picture.crash_of(member);
    let Some(crash) = seen.filter(|_| picture.scale.has(member.until)) else {
        return String::new();
    };
    let (x, told) = (
        picture.scale.x(member.until),
        captions::crash(crash, member),
    );
    let told = escape(&told);
    format!("<path class=\"crash\" d=\"M{x} 0v{height}\"><title>{told}</title></path>")
}

/// Bars, and the marks above and below them.
fn layer(picture: &Picture, row: &Row, track: &Track, style: &Style) -> String {
    let (height, mark) = (style.lane(), style.lane() / 3);
    let scale = &picture.scale;
    let bars = bars(picture, &model::bars(track, scale), style);
    let moves = model::seen(&row.moves, track).map(|mark| scale.x(mark.at));
    let moves = marks("moves", &moves.collect::<Vec<_>>(), height - mark, mark);
    bars + &moves + &wakes(picture, &model::wakes(row, track, scale), mark)
}

/// Those by one thread at one place together, with a tooltip, if they are not too many sorts.
fn wakes(picture: &Picture, all: &[Mark], height: u64) -> String {
    let mut sorts: BTreeMap<Option<By>, Vec<u64>> = BTreeMap::new();
    for mark in all {
        let has_room = sorts.len() < SORTS || sorts.contains_key(&mark.by);
        let by = mark.by.filter(|_| has_room);
        sorts.entry(by).or_default().push(picture.scale.x(mark.at));
    }
    let drawn = sorts.iter().map(|(by, places)| match by {
        Some(by) => {
            let said = format!("woken by {}", captions::by(picture, by));
            told("wakes", places, height, &said)
        }
        None => marks("wakes", places, 0, height),
    });
    drawn.collect()
}

/// The ends of what it waited for, from edge to edge.
fn closes(picture: &Picture, row: &Row, height: u64) -> String {
    let sign = |mark: &Mark| {
        let said = captions::closed(picture, mark);
        closing(picture.scale.x(mark.at), 0, height, &said)
    };
    row.closes.all().iter().map(sign).collect()
}

/// The sign of a closed resource: yellow on black, so that it is seen on every colour.
pub fn closing(x: u64, y: u64, height: u64, said: &str) -> String {
    let path = |class| marks(class, &[x], y, height);
    format!(
        "<g class=\"closes\"><title>{}</title>{}{}</g>",
        escape(said),
        path("under"),
        path("over")
    )
}

/// Marks with a tooltip.
fn told(class: &str, places: &[u64], height: u64, said: &str) -> String {
    let title = format!("><title>{}</title></path>", escape(said));
    marks(class, places, 0, height).replace("/>", &title)
}

/// Wide bars one by one, with tooltips; thin ones of the same look together.
fn bars(picture: &Picture, bars: &[Bar], style: &Style) -> String {
    let (inset, height) = (style.inset, style.bar());
    let told = style.told.max(TOLD * PIXEL);
    let mut thin: BTreeMap<Look, String> = BTreeMap::new();
    let mut drawn = String::new();
    for bar in bars {
        if told <= bar.width {
            drawn += &rect(bar, style, &captions::piece(picture, &bar.piece));
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

fn rect(bar: &Bar, style: &Style, told: &str) -> String {
    format!(
        "<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
        class(bar.look),
        bar.x,
        style.inset,
        bar.width,
        style.bar(),
        escape(told)
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
fn labels(picture: &Picture, row: &Row, base: u64) -> String {
    let mut drawn = String::new();
    let wide = |bar: &&Bar| LABELLED * PIXEL <= bar.width;
    let bars = model::bars(&row.far, &picture.scale);
    for bar in bars.iter().filter(wide) {
        if let Some(words) = captions::label(picture, &bar.piece) {
            drawn += &label(bar, base, &words);
        }
    }
    if let Some(bar) = model::open(row, &picture.scale) {
        drawn += &label(
            &bar,
            base,
            &captions::open(picture, &row.member, &bar.piece),
        );
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
fn end(picture: &Picture, row: &Row, class: &str, base: u64) -> String {
    let word = match picture.crash_of(&row.member) {
        Some(crash) => crash.signal.clone(),
        None => captions::end(&row.member),
    };
    format!(
        "{}<text class=\"end {class}\" x=\"{}\" y=\"{base}\">{}</text>",
        sign(picture, row, class, base - 10),
        RIGHT + 16,
        escape(&word)
    )
}

/// An open end points on, and a crash bursts.
fn sign(picture: &Picture, row: &Row, class: &str, y: u64) -> String {
    if picture.crash_of(&row.member).is_some() {
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
        Look::Untold => "untold",
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
