//! Names with characters that take two columns, and with marks that take none.

use ctp_trace::record::*;

use super::builder::{MS, Trace, wait};

/// Coroutines that wait at three places for as long, and return to them often enough to show usual waits.
pub fn wide() -> Vec<u8> {
    let mut t = Trace::of("./サーバー");
    t.start.host = "開発機".into();
    let spawn = t.source("src/開始.rs", 6);
    let places = [
        (
            "接続を読み取る",
            "src/接続/読み取り/とても長い名前のファイル.rs",
        ),
        (
            "re\u{301}seau",
            "src/re\u{301}seau/lire_une_tre\u{300}s_longue_trame.rs",
        ),
        ("session", "src/session.rs"),
    ];
    for (number, (name, file)) in places.into_iter().enumerate() {
        let read = t.source(file, 17);
        let coroutine = t.born(name, spawn, MS);
        for round in 0..4 {
            let at = (10 * round + number as u64) * MS;
            t.run(coroutine, at + 2 * MS, 4127);
            t.suspend(
                coroutine,
                at + 5 * MS,
                4127,
                wait(read, WaitKind::Readable, 17 + number as u64),
            );
        }
        t.event_counts(coroutine, None, false);
    }
    t.finish()
}
