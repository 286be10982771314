//! Coroutines with events that contradict each other. This is not a verdict.

use std::io;

use ctp_trace::model::{Contradiction, Violation};
use ctp_trace::record::SiteId;
use serde::Serialize;

use crate::evidence::proof::{self, ProofStep};
use crate::findings::{Finding, LISTED, and_more};
use crate::load::Model;
use crate::names::Names;
use crate::text::{Page, units};

/// A coroutine with contradictions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenCoroutine {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The number of contradictions.
    pub count: u64,
    /// Proofs of the first few contradictions.
    pub proofs: Vec<ContradictionProof>,
}

/// Two records, of which the second must not follow the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContradictionProof {
    /// The violation in two words.
    pub violation: &'static str,
    /// The threads of both records.
    pub tids: [u64; 2],
    /// The first record.
    pub before: ProofStep,
    /// The second record, with the violation.
    pub after: ProofStep,
}

impl Finding for Vec<BrokenCoroutine> {
    const NAME: &'static str = "broken";

    fn find(model: &Model, names: &Names) -> Self {
        let broken = model
            .trace_model
            .broken()
            .into_iter()
            .map(|broken| BrokenCoroutine {
                id: broken.id.0,
                name: names.function(SiteId(0), model.trace_model.name(broken.name)),
                count: broken.count,
                proofs: broken
                    .proofs
                    .iter()
                    .map(|contradiction| proof(model, names, contradiction))
                    .collect(),
            });
        broken.collect()
    }

    /// Lists the coroutines with contradictions.
    fn write(&self, page: &mut Page) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let coroutines = units::counted(self.len() as u64, "coroutine");
        let rest = "contradict each other; figures in which they count are unreliable";
        let rest = format!("  events of {coroutines} {rest}");
        page.headline("BROKEN", &rest)?;
        for broken in self.iter().take(LISTED) {
            let name = format!("  id {} {}", broken.id, broken.name);
            let times = units::counted(broken.count, "contradiction");
            page.spread(&name, &times)?;
            for proof in &broken.proofs {
                proof::write(page, &[proof.before.clone(), proof.after.clone()])?;
            }
        }
        and_more(page, self.len())?;
        page.gap()
    }
}

fn proof(model: &Model, names: &Names, contradiction: &Contradiction) -> ContradictionProof {
    let mut after = proof::event(model, names, &contradiction.after);
    after.what += &format!(": {}", why(contradiction));
    ContradictionProof {
        violation: word(contradiction.violation),
        tids: [contradiction.before.tid, contradiction.after.tid],
        before: proof::event(model, names, &contradiction.before),
        after,
    }
}

/// Whether the records are known to be from two threads. Tid 0 is unknown.
fn are_other_threads(contradiction: &Contradiction) -> bool {
    let tids = [contradiction.before.tid, contradiction.after.tid];
    tids[0] != tids[1] && !tids.contains(&0)
}

fn word(violation: Violation) -> &'static str {
    match violation {
        Violation::DoubleResume => "double resume",
        Violation::SuspendedTwice => "suspended twice",
        Violation::AfterDeath => "event after death",
        Violation::BornTwice => "born twice",
    }
}

fn why(contradiction: &Contradiction) -> String {
    let word = word(contradiction.violation);
    match contradiction.violation {
        Violation::DoubleResume => {
            format!("{word}, while it ran on tid {}", contradiction.before.tid)
        }
        Violation::SuspendedTwice if are_other_threads(contradiction) => format!(
            "{word}, on tids {} and {}, without a run in between",
            contradiction.before.tid, contradiction.after.tid
        ),
        _ => word.to_owned(),
    }
}
