//! A dataset of many hosts, read by DuckDB and DataFusion.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ctp_trace::record::{End, Record, Start};
use ctp_trace::{Reader, Writer};

use crate::test_dir::TestDir;
use crate::traces;

const HOSTS: usize = 100;
/// How many exports run at a time, into the same dataset.
const AT_A_TIME: usize = 10;

/// Counts rows of a dataset with both engines: events, coroutines and waits, and in how many traces of how
/// many hosts each event has its coroutine.
const SCRIPT: &str = r#"
import sys
try:
    import datafusion
    import duckdb
except ImportError as error:
    sys.exit(f"SKIPPED: {error}")
dataset = sys.argv[1]
tables = ["events", "coroutines", "waits"]
counts = [f"SELECT count(*) FROM {table}" for table in tables]
joined = """SELECT count(*), count(DISTINCT host), count(DISTINCT trace)
    FROM events JOIN coroutines USING (host, trace, coroutine_id)
    WHERE event IN ('birth', 'run', 'suspend', 'death')"""
duck = duckdb.connect()
fusion = datafusion.SessionContext()
text = __import__("pyarrow").string()
for table in tables:
    duck.execute(f"CREATE VIEW {table} AS FROM read_parquet('{dataset}/*/*/{table}.parquet', "
                 "hive_partitioning = true, hive_types_autocast = false)")
    fusion.register_parquet(table, dataset + "/", file_extension=f"/{table}.parquet",
                            table_partition_cols=[("host", text), ("trace", text)])
for sql in counts + [joined]:
    print(*duck.execute(sql).fetchone())
    print(*(column[0] for column in fusion.sql(sql).to_pydict().values()))
"#;

/// Writes the trace as that of the host with this number. Returns its events of coroutines, its
/// coroutines and its waits.
fn write(path: &Path, bytes: &[u8], number: usize) -> [usize; 2] {
    let mut counts = [0; 2];
    let mut writer = None;
    for record in Reader::new(bytes).unwrap().flatten() {
        match record {
            Record::Start(start) => {
                let start = Start {
                    host: format!("web-{number}"),
                    trace_id: [u8::try_from(number).unwrap(); 16],
                    ..start
                };
                writer = Some(Writer::new(File::create(path).unwrap(), &start).unwrap());
            }
            Record::End(end) => {
                writer.take().unwrap().finish(&End { ..end }).unwrap();
            }
            record => {
                counts[0] += usize::from(matches!(record, Record::Event(_)));
                counts[1] += usize::from(matches!(record, Record::Birth(_)));
                writer.as_mut().unwrap().write(&record).unwrap();
            }
        }
    }
    counts
}

fn export(test_dir: &TestDir, file: &str) -> Child {
    let mut command = test_dir.command(&["-q", "-i", file, "--export", "parquet", "-o", "fleet"]);
    command.stderr(Stdio::piped()).spawn().unwrap()
}

// CT-20
#[test]
fn traces_of_many_hosts_are_a_dataset() {
    let test_dir = TestDir::new();
    let mut all = traces::all().iter();
    let (_, bytes) = all.find(|(name, _)| *name == "deadlock").unwrap();
    let mut counts = [0; 2];
    let files: Vec<String> = (0..HOSTS)
        .map(|number| format!("web-{number}.data"))
        .collect();
    for (number, file) in files.iter().enumerate() {
        counts = write(&test_dir.path(file), bytes, number);
    }
    for files in files.chunks(AT_A_TIME) {
        let running: Vec<Child> = files.iter().map(|file| export(&test_dir, file)).collect();
        for child in running {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
    }
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT]).arg(test_dir.path("fleet"));
    let Ok(output) = python.output() else {
        eprintln!("SKIPPED: no python3");
        return;
    };
    let error = String::from_utf8_lossy(&output.stderr);
    if error.starts_with("SKIPPED") {
        eprintln!("{error}");
        return;
    }
    assert!(output.status.success(), "{error}");
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<&str> = text.lines().collect();
    for (index, pair) in found.chunks(2).enumerate() {
        assert_eq!(
            pair[0], pair[1],
            "DuckDB and DataFusion differ in query {index}"
        );
    }
    let [events, coroutines] = counts.map(|count| count * HOSTS);
    assert_eq!(found[2], coroutines.to_string());
    assert_eq!(found[6], format!("{events} {HOSTS} {HOSTS}"));
}
