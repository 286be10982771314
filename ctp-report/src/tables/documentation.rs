//! Compares `docs/tables.md` with the description of the tables.
//! `CTP_BLESS=1 cargo test -p ctp-report --lib documentation` writes its list of columns again.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::schema::{Column, Key, Kind, TABLES, Table};

const BEGIN: &str = "<!-- columns: generated -->\n";
const END: &str = "<!-- end of columns -->\n";

// CT-20
#[test]
fn documented_columns_are_those_of_the_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tables.md");
    let text = fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once(BEGIN).expect("the begin of the list");
    let (found, after) = rest.split_once(END).expect("the end of the list");
    let expected = TABLES.iter().map(described).collect::<String>() + "\n";
    if std::env::var_os("CTP_BLESS").is_some() {
        let page = format!("{before}{BEGIN}{expected}{END}{after}");
        fs::write(&path, page).expect("the page can be written");
    } else {
        assert_eq!(found, expected, "set CTP_BLESS=1 if that is right");
    }
}

fn described(table: &Table) -> String {
    let mut text = format!(
        "\n### `{}`\n\nA row is {}.\n\n| column | type | meaning |\n| --- | --- | --- |\n",
        table.name, table.meaning
    );
    for column in table.columns {
        let Column { name, meaning, .. } = column;
        let kind = kind(column.kind);
        let null = if column.is_nullable { ", or null" } else { "" };
        let key = match column.key {
            Key::Own => "; key".to_owned(),
            Key::Foreign(table) => format!("; key of `{table}`"),
            Key::None => String::new(),
        };
        // Writing to memory cannot fail.
        let _ = writeln!(text, "| `{name}` | {kind}{null} | {meaning}{key} |");
    }
    text
}

/// The name of a type in DuckDB.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Time | Kind::Number => "BIGINT",
        Kind::Unsigned => "UBIGINT",
        Kind::Text => "VARCHAR",
        Kind::Flag => "BOOLEAN",
    }
}
