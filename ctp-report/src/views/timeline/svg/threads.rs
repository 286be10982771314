//! Draws the threads below the coroutines, each as a thin row.

use super::{CHART, LEFT, RIGHT, TimelineChart, frame};
use crate::text;
use crate::text::units::{counted, grouped, moment};
use crate::text::xml::escape;
use crate::time_scale::UNITS;
use crate::views::timeline::model::ThreadSpan;

/// The height of a row, and of its bar.
const ROW: u64 = 14;
const BAR: u64 = 8;

/// The height of the heading with the space above.
const HEADING: u64 = 26;

/// Draws the threads from `y` on, if any. Returns the SVG and the y coordinate of the lower edge.
pub fn draw(chart: &TimelineChart, y: u64) -> (String, u64) {
    let shown = chart.lives;
    if shown.threads.is_empty() {
        return (String::new(), y);
    }
    let (mut drawn, mut y) = (heading(chart, y + 6), y + HEADING);
    for thread in &shown.threads {
        drawn += &row(chart, thread, y);
        y += ROW;
    }
    (drawn, y)
}

fn heading(chart: &TimelineChart, y: u64) -> String {
    let (shown, total) = (chart.lives.threads.len() as u64, chart.lives.total);
    let mut message = counted(total, "thread");
    if shown < total {
        let shown = grouped(shown);
        message = format!(
            "showing {shown} of {message}: first those with lost records, then the longest-lived"
        );
    }
    frame::band("group threads", y, &message)
}

fn row(chart: &TimelineChart, thread: &ThreadSpan, y: u64) -> String {
    let base = y + 11;
    format!(
        "<g class=\"thread\"><title>{}</title><text x=\"10\" y=\"{base}\">tid {}</text>\
         {}<text class=\"end\" x=\"{}\" y=\"{base}\">{}</text></g>\n",
        escape(&about(thread)),
        thread.tid,
        lane(chart, thread, y),
        RIGHT + 16,
        text::cut(&state(thread), 16)
    )
}

fn lane(chart: &TimelineChart, thread: &ThreadSpan, y: u64) -> String {
    let (scale, inset) = (&chart.scale, (ROW - BAR) / 2);
    let (from, to) = (scale.x(thread.started), scale.x(thread.until));
    let width = to.saturating_sub(from).max(1);
    let losses = thread.losses.iter().filter(|(at, _)| scale.has(*at));
    let losses: String = losses
        .map(|(at, records)| {
            let (x, message) = (scale.x(*at), loss(*records));
            let at = moment(*at);
            format!(
                "<path class=\"losses\" d=\"M{x} 0v{ROW}\"><title>{message} {at}</title></path>"
            )
        })
        .collect();
    format!(
        "<svg class=\"lane\" x=\"{LEFT}\" y=\"{y}\" width=\"{CHART}\" height=\"{ROW}\" \
         viewBox=\"0 0 {UNITS} {ROW}\" preserveAspectRatio=\"none\"><rect class=\"life\" \
         x=\"{from}\" y=\"{inset}\" width=\"{width}\" height=\"{BAR}\"/>{losses}</svg>"
    )
}

fn loss(records: u64) -> String {
    format!("{} lost just before", counted(records, "record"))
}

/// The text at the right edge.
fn state(thread: &ThreadSpan) -> String {
    match (thread.lost, thread.ended) {
        (0, true) => "ended".to_owned(),
        (0, false) => String::new(),
        (lost, _) => format!("{} lost", grouped(lost)),
    }
}

fn about(thread: &ThreadSpan) -> String {
    let end = if thread.ended {
        format!(", ended {}", moment(thread.until))
    } else {
        String::new()
    };
    let lost = counted(thread.lost, "record");
    let (tid, started) = (thread.tid, moment(thread.started));
    format!("thread {tid}: first seen {started}{end}; {lost} lost")
}
