//! The cost of names for 100 000 addresses of a large program, compared with addr2line and demangling
//! alone. `CTP_BENCH_BINARY` names another program; the default is this benchmark.

use std::hint::black_box;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::time::Instant;

use addr2line::Loader;
use object::{Object as _, ObjectSegment as _};
use symbolize::{Avma, FileOffset, Lookup, Mapping, Symbolizer};

const ADDRESSES: u64 = 100_000;
const ROUNDS: usize = 5;

/// The code of a program: the path, the offset in the file, the stated address, and the length.
struct Code {
    path: PathBuf,
    file_offset: u64,
    svma: u64,
    bytes: u64,
}

fn main() {
    let named = std::env::var_os("CTP_BENCH_BINARY").map(PathBuf::from);
    let path = named.unwrap_or_else(|| std::env::current_exe().expect("has a path"));
    let code = code_of(path);
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(seconds(|| with_addr2line(&code)));
        ours.push(seconds(|| with_symbolize(&code)));
    }
    let (ours, bare) = (median(ours), median(bare));
    let name = code.path.display();
    println!(
        "{ADDRESSES} addresses of {name}, {} kB of code",
        code.bytes / 1000
    );
    println!("addr2line and demangling {bare:>8.3} s");
    println!(
        "symbolize                {ours:>8.3} s   {:.2} x",
        ours / bare
    );
}

fn code_of(path: PathBuf) -> Code {
    let bytes = std::fs::read(&path).expect("the program can be read");
    let object = object::File::parse(&*bytes).expect("the program is an ELF file");
    let mut segments = object.segments();
    let code = segments.find(|segment| segment.permissions().executable());
    let code = code.expect("a program has code");
    let (file_offset, length) = code.file_range();
    Code {
        path,
        file_offset,
        svma: code.address(),
        bytes: length,
    }
}

/// Random offsets in the code (a linear congruential generator, Knuth's MMIX).
fn places(code: &Code) -> impl Iterator<Item = u64> {
    let bytes = code.bytes;
    let states = std::iter::successors(Some(1), |state: &u64| {
        let factor = 6_364_136_223_846_793_005;
        Some(
            state
                .wrapping_mul(factor)
                .wrapping_add(1_442_695_040_888_963_407),
        )
    });
    states
        .map(move |state: u64| (state >> 20) % bytes)
        .take(ADDRESSES as usize)
}

fn with_symbolize(code: &Code) {
    const BASE: u64 = 0x5555_0000_0000;
    let mut symbolizer = Symbolizer::new(vec![Mapping {
        start: Avma(BASE),
        end: Avma(BASE + code.bytes),
        file_offset: FileOffset(code.file_offset),
        path: code.path.as_os_str().as_bytes().to_vec(),
        build_id: Vec::new(),
    }]);
    for place in places(code) {
        let found = symbolizer.resolve(Avma(BASE + place), Lookup::Exact);
        black_box(found.expect("an address in the program"));
    }
}

fn with_addr2line(code: &Code) {
    let loader = Loader::new(&code.path).expect("the program can be read");
    for place in places(code) {
        let svma = code.svma + place;
        let mut frames = loader.find_frames(svma).expect("sound debug info");
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref();
            black_box(name.map(|name| name.demangle().map(String::from)));
            black_box(
                frame
                    .location
                    .and_then(|location| location.file.map(str::to_owned)),
            );
        }
        black_box(loader.find_symbol(svma).map(str::to_owned));
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
