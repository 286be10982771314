//! Last words of very many.

use std::fs;

use crate::test_dir::TestDir;
use crate::traces;

/// Every third of the 5000 is dead, but for one.
const ALIVE: usize = 3_336;

fn crowded_page(args: &[&str]) -> String {
    let test_dir = TestDir::new();
    fs::write(test_dir.path("crowd.data"), traces::many(5_000, 3, 6)).unwrap();
    test_dir.text(&[&["-i", "crowd.data", "--last-words"], args].concat())
}

fn reported(page: &str) -> usize {
    page.lines().filter(|line| line.starts_with("id ")).count()
}

#[test]
fn many_last_words_are_sampled_and_counted() {
    let page = crowded_page(&[]);
    assert_eq!(reported(&page), 20);
    let (_, rest) = page.split_once("and 3 316 more, not shown").unwrap();
    let counts = rest
        .lines()
        .filter_map(|line| line.split_once(" x ").map(|(count, _)| count));
    let counts = counts.map(|count| count.replace(' ', "").parse::<usize>().unwrap());
    assert_eq!(counts.sum::<usize>(), ALIVE - 20);
    assert!(page.lines().count() < 300, "{}", page.lines().count());
}

#[test]
fn all_ids_lists_every_coroutine() {
    let page = crowded_page(&["--ids"]);
    assert_eq!(reported(&page), ALIVE);
    let most = page
        .split("\nid ")
        .map(|block| block.matches(" tid ").count())
        .max();
    assert_eq!(most, Some(8), "as many events as a station holds");
}

// CTP-34
#[test]
fn ended_processes_have_ages_at_their_end_and_no_crash() {
    let page = TestDir::new().text(&["-i", "survivor.data", "--last-words"]);
    assert!(
        page.contains("is the only one that ran when SIGSEGV came"),
        "{page}"
    );
    assert!(page.contains("id 3 worker_loop is the only"), "{page}");
    let reported = |id: &str| page.lines().find(|line| line.starts_with(id)).unwrap();
    let suspended = reported("id 2 ");
    assert!(suspended.ends_with("for 2.0 s"), "{page}");
    assert!(page.contains(" (its process ended)"), "{page}");
    assert!(
        reported("id 3 ").ends_with("running on tid 4200 for 6.0 s"),
        "{page}"
    );
}

// CT-18
#[test]
fn filtered_threads_have_no_crash_suspects() {
    let headline = |trace: &str| {
        let page = TestDir::new().text(&["-i", trace, "--last-words"]);
        assert!(
            !page.contains("innocent ran") && !page.contains("crashed"),
            "{page}"
        );
        let line = page.lines().find(|line| line.starts_with("CRASH"));
        line.unwrap().to_owned()
    };
    let left = headline("left_unseen.data");
    assert_eq!(
        left,
        "CRASH  no coroutine ran on tid 4127 when SIGSEGV came"
    );
    let ran = headline("ran_unseen.data");
    assert_eq!(
        ran,
        "CRASH  a filter dropped the events that say which coroutine ran when SIGSEGV came"
    );
}
