//! The page of a check, and the texts that pages and JUnit files share.

use std::io;

use crate::text::{Page, units};
use crate::views::check::model::{self, Checked};
use crate::views::check::proof::MetricProof;
use crate::views::check::range::Outcome;

/// Writes each rule with its value and, unless the rule holds, what supports the value.
pub fn page(page: &mut Page, all: &[Checked], is_verbose: bool) -> io::Result<()> {
    for checked in all {
        page.headline(checked.outcome.word(), &headline(checked))?;
        if let Some(why) = &checked.why {
            page.sentence("  not exact: ", "    ", why)?;
        }
        let has_proof = is_verbose || checked.outcome != Outcome::Passed;
        for proof in checked.proof.iter().filter(|_| has_proof) {
            let at = proof.at.as_deref().unwrap_or("(place not recorded)");
            page.spread(&format!("  {}", line(proof)), at)?;
        }
    }
    page.gap()?;
    page.line(&summary(all))
}

/// The rest of the line that begins with the result.
fn headline(checked: &Checked) -> String {
    format!(" {}   {}", checked.rule, value(checked))
}

/// The value: `is 12.0 ms`, `is at least 3`.
pub fn value(checked: &Checked) -> String {
    let text = |number| match checked.unit {
        "ns" => units::duration_ns(number),
        _ => units::grouped(number),
    };
    let least = text(checked.least);
    match checked.most {
        Some(most) if most == checked.least => format!("is {least}"),
        Some(most) => format!("is from {least} to {}", text(most)),
        None if checked.least == 0 => "is not known".to_owned(),
        None => format!("is at least {least}"),
    }
}

/// A proof without its place.
pub fn line(proof: &MetricProof) -> String {
    let id = proof.id.map(|id| format!("id {id} ")).unwrap_or_default();
    format!("{id}{}: {}", proof.name, proof.what)
}

/// The last line: how many rules have which result.
fn summary(all: &[Checked]) -> String {
    let count = |outcome| model::count(all, outcome);
    let mut parts = vec![format!("{} passed", count(Outcome::Passed))];
    for (outcome, word) in [
        (Outcome::Failed, "failed"),
        (Outcome::NotKnown, "not known"),
        (Outcome::Skipped, "skipped"),
    ] {
        let number = count(outcome);
        parts.extend((0 < number).then(|| format!("{number} {word}")));
    }
    let rules = units::counted(all.len() as u64, "rule");
    format!("{rules}: {}", parts.join(", "))
}
