//! The coroutines that have no row, in compact form. The script draws those that a search finds.

use serde::Serialize;

use super::{TimelineChart, captions};
use crate::text::units::grouped;
use crate::text::{self, NumberedTexts};
use crate::views::timeline::model::RowCandidate;

/// How many characters a text may have.
const MAX_COLUMNS: usize = 120;

/// The coroutines, as the script reads them. Each distinct text is stored once.
#[derive(Debug, Default, Serialize)]
struct Hidden {
    texts: NumberedTexts,
    /// For each coroutine: the numbers of five texts, the id, and three places on the time axis.
    rows: Vec<[u64; 9]>,
}

/// Returns the element with the data, if any coroutine is hidden.
pub fn data(chart: &TimelineChart) -> String {
    let members = &chart.selection.hidden;
    if members.is_empty() {
        return String::new();
    }
    let mut hidden = Hidden::default();
    for member in members {
        hidden.add(chart, member);
    }
    let json = serde_json::to_string(&hidden).expect("the data are only texts and numbers");
    // No text may end the section.
    let json = json.replace('>', "\\u003e");
    format!("<script type=\"application/json\" id=\"hidden\"><![CDATA[{json}]]></script>\n")
}

/// Says how many coroutines a search finds without a row, and how many it does not find.
pub fn message(chart: &TimelineChart) -> Option<String> {
    let hidden = chart.selection.hidden.len() as u64;
    let missing = chart.selection.missing();
    let found = format!("a search also finds {} without a row", grouped(hidden));
    match (hidden, missing) {
        (0, _) => None,
        (_, 0) => Some(found),
        (_, missing) => Some(format!(
            "{found}; {} are not in this file",
            grouped(missing)
        )),
    }
}

impl Hidden {
    fn add(&mut self, chart: &TimelineChart, member: &RowCandidate) {
        let at = chart.names.at(member.site).unwrap_or_default();
        let place = chart.names.short(member.site).unwrap_or_default();
        let texts = [
            captions::name(chart, member),
            place,
            format!("{} {at}", captions::function(chart, member)),
            captions::end(member),
            captions::class(member.verdict).to_owned(),
        ];
        let [name, place, function, end, class] = texts.map(|text| self.number(text));
        let [born, since, until] =
            [member.born, member.since, member.until].map(|at| chart.scale.x(at));
        let id = u64::from(member.id.0);
        self.rows
            .push([name, place, function, end, class, id, born, since, until]);
    }

    /// The number of a text, which is shortened.
    fn number(&mut self, text: String) -> u64 {
        self.texts.number(text::cut_middle(&text, MAX_COLUMNS)) as u64
    }
}
