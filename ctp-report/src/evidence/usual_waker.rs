//! What usually wakes the coroutines at a site: a place in the program, a part of the runtime, or another
//! coroutine.

use std::collections::BTreeMap;

use ctp_trace::model::{Coroutine, WakeOrigin};
use ctp_trace::record::LeafKind;
use serde::{Serialize, Serializer};

use crate::evidence::is_default;
use crate::evidence::missing_wakes::caller;
use crate::load::Model;
use crate::names::runtime_parts::RuntimePart;
use crate::names::{Label, Names};

/// What ended most of the known waits of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsualWaker {
    /// What calls `wake()`.
    #[serde(flatten)]
    pub source: WakeSource,
    /// The number of waits that this source ended.
    pub wakes: u64,
    /// The number of waits with a known waking place.
    pub of: u64,
}

/// What calls `wake()`. If no field is set, only functions of libraries were found on the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WakeSource {
    /// The function, if known.
    pub function: Option<String>,
    /// File and line, or module and offset.
    pub at: Option<String>,
    /// The part of the runtime, if no function of the program calls `wake()`.
    #[serde(serialize_with = "word", skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimePart>,
    /// The name of the coroutine, if no function of the program is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coroutine: Option<String>,
    /// The caller is a thread that runs no coroutine meanwhile, and nothing else is known.
    #[serde(skip_serializing_if = "is_default")]
    pub is_thread: bool,
}

/// What usually wakes coroutines at the site of this coroutine. Sites on the same line count as the same
/// place, and so do all sites in the same part of a runtime.
pub fn of(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<UsualWaker> {
    let wait = coroutine.suspend()?;
    let wakers = &model.trace_model.site(wait.site, wait.wait)?.wakers;
    let leaf = model.trace_model.leaf_kind(coroutine);
    let mut sources: BTreeMap<WakeSource, u64> = BTreeMap::new();
    for (origin, wakes) in wakers.origins() {
        let source = WakeSource::of(model, names, origin, leaf);
        *sources.entry(source).or_default() += wakes;
    }
    let (source, wakes) = sources.into_iter().max_by_key(|(_, wakes)| *wakes)?;
    Some(UsualWaker {
        source,
        wakes,
        of: wakers.count(),
    })
}

impl WakeSource {
    fn of(model: &Model, names: &Names, origin: &WakeOrigin, leaf: LeafKind) -> Self {
        if let Some(label) = caller(model, names, origin.site) {
            return WakeSource {
                function: label.function.clone(),
                at: Label::at(label),
                ..WakeSource::default()
            };
        }
        let part = RuntimePart::that_wakes(leaf, names.runtime_part(origin.site));
        let runtime = part.filter(|_| origin.is_thread);
        WakeSource {
            runtime,
            coroutine: names.called(model.trace_model.name(origin.coroutine)),
            is_thread: origin.is_thread && runtime.is_none(),
            ..WakeSource::default()
        }
    }

    /// Describes a source without a known function and place.
    pub fn describe(&self) -> String {
        match (self.runtime, &self.coroutine) {
            (Some(part), _) => part.describe().to_owned(),
            (_, Some(coroutine)) => format!("a coroutine {coroutine}"),
            _ if self.is_thread => "a thread outside of coroutines".to_owned(),
            _ => "unknown: no function of the program was found".to_owned(),
        }
    }
}

fn word<S: Serializer>(part: &Option<RuntimePart>, serializer: S) -> Result<S::Ok, S::Error> {
    part.map(RuntimePart::word).serialize(serializer)
}
