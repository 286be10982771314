//! The values of `--sort`: the columns of the table of sites, and those of the live table.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::config::{Sort, TopSort};

/// The columns of both tables, each once.
pub(super) fn possible_values() -> PossibleValuesParser {
    let of_sites = Sort::value_variants().iter();
    let mut all: Vec<PossibleValue> = of_sites.filter_map(Sort::to_possible_value).collect();
    let of_top = TopSort::value_variants().iter();
    for value in of_top.filter_map(TopSort::to_possible_value) {
        match all
            .iter_mut()
            .find(|known| known.get_name() == value.get_name())
        {
            Some(known) => *known = with_both_helps(known, &value),
            None => all.push(value.clone().help(help_of_top(&value))),
        }
    }
    all.into()
}

/// A column that both tables have.
fn with_both_helps(site: &PossibleValue, top: &PossibleValue) -> PossibleValue {
    let [site_help, top_help] = [site, top].map(help);
    let text = if site_help == top_help {
        site_help
    } else {
        format!("{site_help}; --top: {top_help}")
    };
    site.clone().help(text)
}

fn help_of_top(value: &PossibleValue) -> String {
    format!("--top: {}", help(value))
}

fn help(value: &PossibleValue) -> String {
    value
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// Parses the columns of one of the tables. Columns that the table does not have are left out.
pub(super) fn parse<T: ValueEnum>(words: &[String]) -> impl Iterator<Item = T> {
    words
        .iter()
        .filter_map(|word| T::from_str(word, false).ok())
}

/// The first column that the table does not have.
pub(super) fn first_unknown<T: ValueEnum>(words: &[String]) -> Option<&String> {
    words.iter().find(|word| T::from_str(word, false).is_err())
}
