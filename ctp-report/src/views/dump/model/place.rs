//! Places in the program: sites, await chains, branches, and what leaf futures wait for.

use ctp_trace::record::{Branches, Chain, Leaf, Place, Site};
use serde_json::{Value, json};

use super::{Field, address};
use crate::text::escape;

pub(super) fn site_fields(site: &Site) -> Vec<Field> {
    let (place, value) = match &site.place {
        Place::Source { file, line, column } => {
            ("source", json!(format!("{}:{line}:{column}", escape(file))))
        }
        Place::Function { address, name } => {
            ("function", json!(format!("{address:#x} {}", escape(name))))
        }
        Place::Address(number) => ("address", address(*number)),
        Place::ReturnAddress(number) => ("return_address", address(*number)),
        _ => ("unknown", Value::Null),
    };
    vec![
        ("id", site.id.0.into()),
        ("process", site.process.0.into()),
        (place, value),
    ]
}

pub(super) fn chain_fields(chain: &Chain) -> Vec<Field> {
    let addresses: Value = chain
        .addresses
        .iter()
        .map(|number| address(*number))
        .collect();
    vec![
        ("site", chain.site.0.into()),
        ("whole", chain.is_whole.into()),
        ("addresses", addresses),
    ]
}

pub(super) fn branches_fields(branches: &Branches) -> Vec<Field> {
    let sites: Value = branches.sites.iter().map(|site| site.0).collect();
    vec![("site", branches.site.0.into()), ("branches", sites)]
}

pub(super) fn leaf_fields(leaf: &Leaf) -> Vec<Field> {
    let mut fields = vec![
        ("site", leaf.site.0.into()),
        ("kind", leaf.kind.word().into()),
    ];
    if leaf.same_as.0 != 0 {
        fields.push(("same_as", leaf.same_as.0.into()));
    }
    fields
}
