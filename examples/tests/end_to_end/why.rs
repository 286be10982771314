//! `--why`: the wakes that led a coroutine to its state, compared with the program's source.

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{record, report_json};

fn id_of(words: &Value, name: &str) -> u64 {
    let all = words["last_words"].as_array().expect("a list");
    let value = all.iter().find(|value| value["name"] == name);
    value.and_then(|value| value["id"].as_u64()).expect("alive")
}

#[test]
fn why_leads_from_consumer_to_producer_to_timer() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_slow", &[]);
    let words = report_json(directory.path(), &["--last-words"]);
    for i in 0..3 {
        let [consumer, producer] =
            ["consumer", "producer"].map(|text| id_of(&words, &format!("{text}-{i}")));
        let why = &report_json(directory.path(), &["--why", &consumer.to_string()])["why"];
        assert_eq!(why["origin"], "timer", "{why}");
        let links = why["links"].as_array().expect("a list");
        let ids: Vec<&Value> = links.iter().map(|link| &link["id"]).collect();
        assert_eq!(ids, [producer, consumer], "{why}");
        assert_eq!(links[1]["ready"]["by"], producer, "{why}");
        let waited = links[1]["waited_for"].as_str().expect("a channel");
        assert!(waited.starts_with("channel "), "{why}");
    }
}
