//! The results as a JUnit file, which CI services read: a test case for each rule.

use crate::text::xml::escape;
use crate::views::check::model::{self, Checked};
use crate::views::check::range::Outcome;
use crate::views::check::text;

/// Writes the file. Names of the program are escaped. `filtered` says what a filter selected.
pub fn document((all, filtered): (&[Checked], &[String]), program: &str) -> String {
    let [failures, skipped] = [
        model::count(all, Outcome::Failed) + model::count(all, Outcome::NotKnown),
        model::count(all, Outcome::Skipped),
    ];
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"",
        all.len()
    );
    let cases: String = all.iter().map(|checked| case(checked, program)).collect();
    let properties = properties(filtered);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"ctp-report --check\" {counts}>\n{properties}{cases}  </testsuite>\n</testsuites>\n"
    )
}

fn properties(filtered: &[String]) -> String {
    if filtered.is_empty() {
        return String::new();
    }
    let value = escape(&filtered.join("; "));
    format!(
        "    <properties>\n      <property name=\"filtered\" value=\"{value}\"/>\n    </properties>\n"
    )
}

fn case(checked: &Checked, program: &str) -> String {
    let start = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        escape(program),
        escape(&checked.rule)
    );
    let value = escape(&text::value(checked));
    let inside = match checked.outcome {
        Outcome::Passed => return format!("{start}/>\n"),
        Outcome::Skipped => format!("<skipped message=\"{}\"/>", escape(&details(checked))),
        Outcome::Failed => failure(checked, "failed", &value),
        Outcome::NotKnown => failure(checked, "not known", &value),
    };
    format!("{start}>\n      {inside}\n    </testcase>\n")
}

fn failure(checked: &Checked, kind: &str, value: &str) -> String {
    format!(
        "<failure type=\"{kind}\" message=\"{value}\">{}</failure>",
        escape(&details(checked))
    )
}

/// Why the value is not exact, and what supports the value, a line each.
fn details(checked: &Checked) -> String {
    let why = checked.why.iter().map(|why| format!("not exact: {why}"));
    let proofs = checked.proof.iter().map(|proof| {
        let at = proof.at.as_deref().unwrap_or("(place not recorded)");
        format!("{}  {at}", text::line(proof))
    });
    why.chain(proofs).collect::<Vec<_>>().join("\n")
}
