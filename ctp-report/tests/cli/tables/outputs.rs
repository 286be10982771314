//! Where tables are written, and what is not written over.

use std::fs;

use super::read;
use crate::test_dir::TestDir;

/// The error of a run that must fail with this status.
fn error(test_dir: &TestDir, status: i32, args: &[&str]) -> String {
    let args = [&["-i", "closed.data", "--export"], args].concat();
    let output = test_dir.report(&args);
    assert_eq!(output.status.code(), Some(status), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

// CT-20
#[test]
fn usage_errors_say_what_to_do() {
    let test_dir = TestDir::new();
    for (args, message) in [
        (&["csv-tables"][..], "writes a folder: name it with -o DIR"),
        (
            &["csv-tables", "-o", "-"],
            "writes a folder: name it with -o DIR",
        ),
        (&["tables"], "csv-tables"),
    ] {
        let found = error(&test_dir, 2, args);
        assert!(found.contains(message), "{args:?}: {found}");
    }
    assert!(!test_dir.path("d").exists());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let found = error(&TestDir::new(), 2, &["parquet", "-o", "d"]);
    assert!(found.contains("this build has no Parquet"), "{found}");
}

#[cfg(not(feature = "sqlite"))]
#[test]
fn a_build_without_sqlite_says_so() {
    let found = error(&TestDir::new(), 2, &["sqlite", "-o", "d"]);
    assert!(found.contains("this build has no SQLite"), "{found}");
}

// CT-20
#[test]
fn a_folder_with_other_files_is_left_alone() {
    let test_dir = TestDir::new();
    fs::create_dir(test_dir.path("mine")).unwrap();
    fs::write(test_dir.path("mine/notes"), "precious").unwrap();
    let found = error(&test_dir, 1, &["csv-tables", "-o", "mine"]);
    assert!(
        found.contains("mine has other files: name an empty folder"),
        "{found}"
    );
    assert_eq!(fs::read_dir(test_dir.path("mine")).unwrap().count(), 1);
    let found = error(&test_dir, 1, &["csv-tables", "-o", "mine/notes"]);
    assert!(found.contains("cannot write mine/notes"), "{found}");
    let found = error(&test_dir, 1, &["csv-tables", "-o", "no/such"]);
    assert!(found.contains("cannot create no/such"), "{found}");
}

// CT-20
#[test]
fn the_same_trace_is_not_added_twice() {
    let test_dir = TestDir::new();
    let export = ["-i", "closed.data", "--export", "csv-tables", "-o", "all"];
    test_dir.text(&export);
    let folder = read::only_trace(&test_dir.path("all"));
    let before = fs::read(folder.join("events.csv")).unwrap();
    let found = error(&test_dir, 1, &["csv-tables", "-o", "all"]);
    assert!(
        found.contains("to replace it, remove that folder first"),
        "{found}"
    );
    assert_eq!(fs::read(folder.join("events.csv")).unwrap(), before);
    fs::remove_dir_all(&folder).unwrap();
    test_dir.text(&export);
    assert_eq!(fs::read(folder.join("events.csv")).unwrap(), before);
    assert_eq!(fs::read_dir(test_dir.path("all")).unwrap().count(), 1);
}

#[cfg(feature = "sqlite")]
// CT-20
#[test]
fn only_own_databases_are_replaced() {
    let test_dir = TestDir::new();
    fs::write(test_dir.path("notes"), "precious").unwrap();
    rusqlite::Connection::open(test_dir.path("other.sqlite"))
        .and_then(|other| other.execute_batch("CREATE TABLE precious (x)"))
        .unwrap();
    for other in ["notes", "other.sqlite"] {
        let before = fs::read(test_dir.path(other)).unwrap();
        let found = error(&test_dir, 1, &["sqlite", "-o", other]);
        assert!(found.contains("is no database of ctp-report"), "{found}");
        assert_eq!(fs::read(test_dir.path(other)).unwrap(), before);
    }
    let found = error(&test_dir, 1, &["sqlite", "-o", "src"]);
    assert!(found.contains("cannot write src"), "{found}");
    let found = error(&test_dir, 1, &["sqlite", "-o", "/dev/full"]);
    assert!(found.contains("a database needs a regular file"), "{found}");
    let entries = || fs::read_dir(test_dir.path("")).unwrap().count();
    let before = entries();
    for _ in 0..2 {
        test_dir.text(&["-i", "closed.data", "--export", "sqlite", "-o", "own"]);
    }
    assert_eq!(entries(), before + 1);
}
