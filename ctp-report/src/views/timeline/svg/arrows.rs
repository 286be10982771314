//! Draws wakes as arrows from the waker's row to the woken row, at the time of the wake.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{CHART, LEFT, TimelineChart, captions};
use crate::text::units::{counted, grouped};
use crate::text::xml::escape;
use crate::time_scale::UNITS;
use crate::views::timeline::model::Arrow;

/// How many arrows may be shown together. If there are more, only the arrows of the row under the
/// pointer are shown.
const MAX_TOGETHER: usize = 120;

/// The height of an arrow head. A head consists of lines with decreasing widths, because zooming does
/// not change line widths.
const HEAD: u64 = 6;
const STEPS: u64 = 3;

/// The arrows from a row to another: visible always, and visible only when zoomed in.
#[derive(Default)]
struct Pair {
    far: Vec<u64>,
    near: Vec<u64>,
}

/// Draws the arrows above the rows, which have the upper edges `edges`.
pub fn draw(chart: &TimelineChart, edges: &[u64], height: u64) -> String {
    let (Some(top), Some(last)) = (edges.first(), edges.last()) else {
        return String::new();
    };
    let pairs = pairs(chart);
    if pairs.is_empty() {
        return String::new();
    }
    let tall = last + height - top;
    let class = if is_dense(chart) { " by-row" } else { "" };
    let mut drawn = format!(
        "<svg class=\"lane arrows{class}\" x=\"{LEFT}\" y=\"{top}\" width=\"{CHART}\" \
         height=\"{tall}\" viewBox=\"0 0 {UNITS} {tall}\" preserveAspectRatio=\"none\">"
    );
    for ((from, to), pair) in &pairs {
        let ends = (edges[*from] - top, edges[*to] - top);
        drawn += &group(chart, (*from, *to), pair, ends, height);
    }
    drawn + "</svg>\n"
}

/// Says how many arrows there are, and how to see them.
pub fn message(chart: &TimelineChart) -> Option<String> {
    let (total, kept) = (chart.arrows.total(), chart.arrows.all().len() as u64);
    if total == 0 {
        return None;
    }
    let wakes = format!("{} between rows", counted(total, "wake"));
    let which = if kept == total {
        format!("arrows: {wakes}")
    } else {
        format!("arrows: {} of {wakes}", grouped(kept))
    };
    Some(match (is_dense(chart), needs_zoom(chart)) {
        (true, _) => format!("{which}; point at a row to see its arrows"),
        (false, true) => format!("{which}; where they are dense, zoom in and point at a row"),
        (false, false) => which,
    })
}

fn is_dense(chart: &TimelineChart) -> bool {
    let all = chart.arrows.all().iter();
    MAX_TOGETHER < all.filter(|arrow| is_seen_from_afar(chart, arrow)).count()
}

fn needs_zoom(chart: &TimelineChart) -> bool {
    let mut all = chart.arrows.all().iter();
    !all.all(|arrow| is_seen_from_afar(chart, arrow))
}

/// Whether the arrow is visible when zoomed out: both ends lie outside of merged pieces.
fn is_seen_from_afar(chart: &TimelineChart, arrow: &Arrow) -> bool {
    [arrow.from, arrow.to]
        .iter()
        .all(|row| chart.rows[*row].far.distinguishes(arrow.at))
}

fn pairs(chart: &TimelineChart) -> BTreeMap<(usize, usize), Pair> {
    let mut pairs: BTreeMap<(usize, usize), Pair> = BTreeMap::new();
    for arrow in chart.arrows.all() {
        let pair = pairs.entry((arrow.from, arrow.to)).or_default();
        let places = if is_seen_from_afar(chart, arrow) {
            &mut pair.far
        } else {
            &mut pair.near
        };
        let x = chart.scale.x(arrow.at);
        if places.last() != Some(&x) {
            places.push(x);
        }
    }
    pairs
}

fn group(
    chart: &TimelineChart,
    (from, to): (usize, usize),
    pair: &Pair,
    (a, b): (u64, u64),
    height: u64,
) -> String {
    let middle = a + height / 2;
    let tip = if a < b { b + 1 } else { b + height - 2 };
    let subject = |row: usize| {
        let member = &chart.rows[row].member;
        format!("{} #{}", captions::name(chart, member), member.id.0)
    };
    let reported = format!("{} woke {}", subject(from), subject(to));
    let mut drawn = format!(
        "<g class=\"call\" data-a=\"{from}\" data-b=\"{to}\"><title>{}</title>{}",
        escape(&reported),
        shape(&pair.far, middle, tip)
    );
    if !pair.near.is_empty() {
        let near = shape(&pair.near, middle, tip);
        let _ = write!(drawn, "<g class=\"near\">{near}</g>");
    }
    drawn + "</g>\n"
}

/// Draws arrows at `places`: stems, and heads as steps that get thinner towards the tip.
pub fn shape(places: &[u64], from: u64, tip: u64) -> String {
    if places.is_empty() {
        return String::new();
    }
    let path = |class: &str, from: u64, to: u64| {
        let lines: String = places.iter().map(|x| format!("M{x} {from}V{to}")).collect();
        format!("<path class=\"{class}\" d=\"{lines}\"/>")
    };
    let back = |by: u64| if from < tip { tip - by } else { tip + by };
    let mut drawn = path("stem", from, back(1));
    for step in 0..STEPS {
        let (begin, end) = (HEAD - step * HEAD / STEPS, HEAD - (step + 1) * HEAD / STEPS);
        drawn += &path(&format!("head{step}"), back(begin), back(end));
    }
    drawn
}
