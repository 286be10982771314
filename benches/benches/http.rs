//! What tracing costs a real service: an echo server on hyper (`http/`), under a fixed load on loopback.
//!
//! The server runs plain, with the probe, with the probe under the recorder in three modes, and with tokio-console's
//! subscriber. The ways alternate, and each is compared with the plain run of the same round: processor time of the
//! server and of the recorder for a request at a steady rate, requests a second at full load, and at a low rate the
//! latency.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use ctp_benches::recorder;
use ctp_benches::usage::processor_time_of;

const ROUNDS: usize = 5;
const CONNECTIONS: usize = 64;
const WARM_UP: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_secs(2);
/// A steady rate, in requests a second.
const STEADY_RATE: u32 = 90_000;
/// How many requests are sent together at the steady rate.
const GROUP: usize = 16;
/// The low rate, in requests a second.
const LOW_RATE: u32 = 3_000;
const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n0123456789abcdef";

fn main() {
    let (Some(recorder), Some(server)) = (recorder(), build(&[], None)) else {
        return;
    };
    let console = build(&["--features", "console"], Some("--cfg tokio_unstable"));
    let mut ways = ways(&recorder, &server, console.as_deref());
    for _ in 0..ROUNDS {
        for way in &mut ways {
            way.measure();
        }
    }
    report(&ways);
}

/// Builds the server. `None`, with a message, if that fails.
fn build(features: &[&str], flags: Option<&str>) -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("http");
    let target = package.join("target").join(features.join(""));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--locked"]);
    cargo.args(features).current_dir(&package);
    cargo.env("CARGO_TARGET_DIR", &target);
    cargo.envs(flags.map(|flags| ("RUSTFLAGS", flags)));
    let is_built = cargo.status().is_ok_and(|status| status.success());
    if !is_built {
        println!(
            "skipped: benches/http cannot be built {}",
            features.join(" ")
        );
    }
    is_built.then(|| target.join("release/ctp-benches-http"))
}

/// A way to run the server, and its figures in each round.
struct Way {
    what: &'static str,
    command: Vec<PathBuf>,
    /// Whether the first process is the recorder.
    is_recorded: bool,
    figures: Vec<Figures>,
}

/// The figures of a run.
#[derive(Clone, Copy)]
struct Figures {
    /// Processor time of server and recorder, ns a request, at the steady rate.
    busy_ns: f64,
    /// The same at full load.
    full_ns: f64,
    /// Requests a second at full load.
    rate: f64,
    /// The recorder's share of a core at the low rate.
    share: f64,
    /// The latency that 99 % of the requests at the low rate do not exceed.
    p99_us: f64,
}

fn ways(recorder: &Path, server: &Path, console: Option<&Path>) -> Vec<Way> {
    let trace = std::env::temp_dir().join(format!("ctp-http-{}", std::process::id()));
    let recorded = |mode: &[&str]| {
        let mut words = vec![recorder.to_owned(), "-q".into(), "-o".into(), trace.clone()];
        words.extend(mode.iter().map(PathBuf::from));
        words.extend(["--".into(), server.to_owned(), "--as=traced".into()]);
        words
    };
    let traced = vec![server.to_owned(), "--as=traced".into()];
    let mut ways = vec![
        Way::new("plain", vec![server.to_owned()]),
        Way::new("probe, not recorded", traced),
        Way::recorded("recorded", recorded(&[])),
        Way::recorded("--flight-recorder=5s", recorded(&["--flight-recorder=5s"])),
        Way::recorded("--summary", recorded(&["--summary"])),
    ];
    ways.extend(console.map(|console| Way::new("tokio-console", vec![console.to_owned()])));
    ways
}

impl Way {
    fn new(what: &'static str, command: Vec<PathBuf>) -> Self {
        Way {
            what,
            command,
            is_recorded: false,
            figures: Vec::new(),
        }
    }

    fn recorded(what: &'static str, command: Vec<PathBuf>) -> Self {
        Way {
            is_recorded: true,
            ..Way::new(what, command)
        }
    }

    fn measure(&mut self) {
        let mut server = Server::start(&self.command);
        let mut connections = server.connections();
        let response_bytes = first_response(&mut connections[0]);
        let mut load = Load {
            connections,
            response: vec![0; response_bytes],
        };
        load.saturate(WARM_UP);
        let start = self.spent_ns(&mut server);
        let (full, elapsed) = load.saturate(WINDOW);
        let after_full = self.spent_ns(&mut server);
        let (busy, _) = load.steady();
        let after_busy = self.spent_ns(&mut server);
        let before = self.recorder_ns(&server);
        let (p99_us, elapsed_low) = load.low();
        let share = self.recorder_ns(&server) - before;
        self.figures.push(Figures {
            busy_ns: (after_busy - after_full) as f64 / busy as f64,
            full_ns: (after_full - start) as f64 / full as f64,
            rate: full as f64 / elapsed.as_secs_f64(),
            share: share as f64 / elapsed_low.as_nanos() as f64,
            p99_us,
        });
    }

    /// The processor time of server and recorder so far.
    fn spent_ns(&self, server: &mut Server) -> u64 {
        server.processor_ns() + self.recorder_ns(server)
    }

    /// The processor time of the recorder; 0 if there is none.
    fn recorder_ns(&self, server: &Server) -> u64 {
        if self.is_recorded {
            processor_time_of(server.process.id()).as_nanos() as u64
        } else {
            0
        }
    }
}

/// A running server, possibly below the recorder. Ends when this is dropped.
struct Server {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl Server {
    fn start(command: &[PathBuf]) -> Self {
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("can be run");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Server {
            process,
            input,
            output,
            port: 0,
        };
        server.port = server.number() as u16;
        server
    }

    fn number(&mut self) -> u64 {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        line.trim().parse().expect("a number")
    }

    /// The processor time of the server's process.
    fn processor_ns(&mut self) -> u64 {
        let input = self.input.as_mut().expect("is open until the end");
        input.write_all(b"\n").expect("the server reads");
        self.number()
    }

    fn connections(&self) -> Vec<TcpStream> {
        let connect = |_| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
            let stream = stream.expect("the server accepts");
            stream.set_nodelay(true).expect("a connected socket");
            stream
        };
        (0..CONNECTIONS).map(connect).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        self.process.wait().expect("was started here");
    }
}

/// Sends the first request. All responses are as long as the first.
fn first_response(connection: &mut TcpStream) -> usize {
    connection.write_all(REQUEST).expect("is open");
    let mut response = [0; 1024];
    let mut bytes = 0;
    while !response[..bytes].ends_with(b"0123456789abcdef") {
        let more = connection.read(&mut response[bytes..]).expect("is open");
        assert_ne!(more, 0, "the server has closed the connection");
        bytes += more;
    }
    bytes
}

/// The load generator.
struct Load {
    connections: Vec<TcpStream>,
    /// Room for a response.
    response: Vec<u8>,
}

impl Load {
    /// Sends a request on each of these connections, and waits for all responses.
    fn exchange(&mut self, first: usize, count: usize) {
        let of_group = &mut self.connections[first..first + count];
        for connection in &mut *of_group {
            connection.write_all(REQUEST).expect("is open");
        }
        for connection in of_group {
            connection.read_exact(&mut self.response).expect("is open");
        }
    }

    /// Sends requests as fast as the server answers. Returns their number.
    fn saturate(&mut self, window: Duration) -> (u64, Duration) {
        let (began, mut requests) = (Instant::now(), 0);
        while began.elapsed() < window {
            self.exchange(0, CONNECTIONS);
            requests += CONNECTIONS as u64;
        }
        (requests, began.elapsed())
    }

    /// Sends groups of requests at the steady rate. Returns the number of requests.
    fn steady(&mut self) -> (u64, Duration) {
        let (began, mut requests) = (Instant::now(), 0);
        let mut due = Duration::ZERO;
        while began.elapsed() < WINDOW {
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            due += Duration::from_secs(1) * GROUP as u32 / STEADY_RATE;
            self.exchange(requests as usize % CONNECTIONS, GROUP);
            requests += GROUP as u64;
        }
        (requests, began.elapsed())
    }

    /// Sends requests at the low rate, one after the other. Returns the 99th percentile of the latency in µs.
    fn low(&mut self) -> (f64, Duration) {
        let mut latencies = Vec::new();
        let (began, mut due) = (Instant::now(), Duration::ZERO);
        while began.elapsed() < WINDOW {
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            due += Duration::from_secs(1) / LOW_RATE;
            let sent = Instant::now();
            self.exchange(latencies.len() % CONNECTIONS, 1);
            latencies.push(sent.elapsed());
        }
        latencies.sort_unstable();
        let p99 = latencies[latencies.len() * 99 / 100];
        (p99.as_nanos() as f64 / 1e3, began.elapsed())
    }
}

fn report(ways: &[Way]) {
    println!("medians of {ROUNDS}; in brackets relative to plain in the same round");
    println!(
        "{:<22} {:^17} {:^17} {:^17} {:^17} recorder",
        "", "ns a request", "at full load", "requests a second", "p99, us"
    );
    for way in ways {
        let column = |of: fn(&Figures) -> f64| Column::new(&way.figures, &ways[0].figures, of);
        let share = median(way.figures.iter().map(|figures| figures.share * 100.0));
        println!(
            "{:<22} {} {} {} {} {share:>5.2} %",
            way.what,
            column(|figures| figures.busy_ns),
            column(|figures| figures.full_ns),
            column(|figures| figures.rate),
            column(|figures| figures.p99_us),
        );
    }
}

/// A figure, and its ratio to the plain runs.
struct Column(f64, f64);

impl Column {
    fn new(figures: &[Figures], plain: &[Figures], of: fn(&Figures) -> f64) -> Self {
        let ratios = figures.iter().zip(plain).map(|(a, b)| of(a) / of(b));
        Column(median(figures.iter().map(of)), median(ratios))
    }
}

impl std::fmt::Display for Column {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:>8.0} ({:.3})", self.0, self.1)
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = figures.collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
