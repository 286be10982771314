//! CT-13: names come from the program's own file; here that is this test.

use std::any::type_name;
use std::fs;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use ctp_trace::Writer;
use ctp_trace::record::*;

use crate::test_dir::TestDir;
use crate::traces;

async fn reads_a_frame() -> u32 {
    let line = line!() + 1;
    std::future::ready(()).await;
    line
}

/// The line of the await, found by running to it.
fn await_line() -> u32 {
    let mut future = Box::pin(reads_a_frame());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(line) => line,
        std::task::Poll::Pending => unreachable!("it is ready at once"),
    }
}

/// The executable mappings of this process that have a name.
fn modules() -> Vec<Module> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter_map(module).collect()
}

fn module(line: &str) -> Option<Module> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [range, "r-xp", offset, _, _, path] = fields[..] else {
        return None;
    };
    let (start, end) = range.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let path = path.as_bytes().to_vec();
    let (start, end, file_offset) = (hex(start)?, hex(end)?, hex(offset)?);
    let process = ProcessId(1);
    Some(Module {
        process,
        start,
        end,
        file_offset,
        path,
        ..Module::default()
    })
}

fn trace(modules: Vec<Module>, place: Place) -> Vec<u8> {
    trace_of(modules, place, None)
}

fn trace_of(modules: Vec<Module>, place: Place, chain: Option<Chain>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    let name = match &place {
        Place::Function { name, .. } => name.clone(),
        _ => String::new(),
    };
    let site = Site {
        id: SiteId(1),
        process: ProcessId(1),
        place,
    };
    let coroutine = CoroutineId(1);
    let birth = Birth {
        coroutine,
        process: ProcessId(1),
        name,
        dialect: Dialect::V1PerSlot,
        ..Birth::default()
    };
    let event = Event {
        coroutine,
        kind: EventKind::Suspend,
        site: SiteId(1),
        ..Event::default()
    };
    let records = modules.into_iter().map(Record::Module);
    let rest = [Record::Birth(birth), Record::Event(event)];
    records
        .chain([Record::Site(site)])
        .chain(chain.map(Record::Chain))
        .chain(rest)
        .for_each(|record| writer.write(&record).unwrap());
    writer
        .finish(&End {
            at: Nanos(5_000_000_000),
            ..End::default()
        })
        .unwrap()
}

fn stuck(bytes: &[u8]) -> String {
    page(bytes, &["--stuck"])
}

fn page(bytes: &[u8], args: &[&str]) -> String {
    let test_dir = TestDir::new();
    fs::write(test_dir.path("ctp.data"), bytes).unwrap();
    test_dir.text(args)
}

#[test]
fn a_line_has_the_name_of_the_async_function_and_the_text() {
    let line = await_line();
    let place = Place::Source {
        file: file!().to_owned(),
        line,
        column: 0,
    };
    let text = stuck(&trace(modules(), place));
    assert!(text.contains("reads_a_frame"), "{text}");
    assert!(text.contains(&format!("{}:{line}", file!())), "{text}");
    assert!(
        text.contains("std::future::ready(()).await;"),
        "found by its path from the root: {text}"
    );
    assert!(!text.contains("note:"), "{text}");
}

#[test]
fn an_address_in_the_text_is_a_place() {
    let address = stuck as *const () as usize as u64;
    let text = stuck(&trace(modules(), Place::Address(address)));
    assert!(
        text.contains("names::stuck") && text.contains("cli/names.rs:"),
        "{text}"
    );
}

/// As a program finds it that is compiled without frame pointers: each address is one of code.
#[test]
fn unproven_chains_name_no_function() {
    let chain = Chain {
        site: SiteId(1),
        is_whole: true,
        addresses: [stuck as *const (), modules as *const (), trace as *const ()]
            .map(|function| function as usize as u64 + 1)
            .to_vec(),
    };
    let place = Place::Function {
        address: trace_of as *const () as usize as u64,
        name: "app::serve::{{closure}}".to_owned(),
    };
    for addresses in [
        chain.addresses.clone(),
        vec![chain.addresses[0], 8, u64::MAX],
    ] {
        let chain = Chain {
            addresses,
            ..chain.clone()
        };
        let text = stuck(&trace_of(modules(), place.clone(), Some(chain)));
        assert!(text.contains("1 x app::serve "), "{text}");
        assert!(!text.contains("awaited by"), "{text}");
        assert!(text.contains("force-frame-pointers=yes"), "{text}");
    }
}

/// What a program calls a place that polls this future: where, and by its type's name.
fn polled<F: Future>(_: &F) -> Place {
    let poll: fn(Pin<&mut F>, &mut Context<'_>) -> Poll<F::Output> = F::poll;
    Place::Function {
        address: poll as usize as u64,
        name: type_name::<F>().to_owned(),
    }
}

/// To the compiler's names of types each body is a closure.
#[test]
fn a_block_has_the_line() {
    let outer = async {
        let inner = async { std::future::pending::<()>().await };
        let place = polled(&inner);
        drop(inner);
        place
    };
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(place) = pin!(outer).poll(&mut context) else {
        panic!("it awaits nothing");
    };
    let bytes = trace(modules(), place);
    let text = stuck(&bytes);
    assert!(
        text.contains("1 x async block i") && text.contains("cli/names.rs:"),
        "{text}"
    );
    let text = page(&bytes, &["--why", "1"]);
    assert!(text.contains("WHY id 1 async block i"), "{text}");
}

#[test]
fn wrappers_have_the_name_of_the_wrapped_function() {
    let address = stuck as *const () as usize as u64;
    let name = "app::serve::{{closure}}".to_owned();
    let text = stuck(&trace(modules(), Place::Function { address, name }));
    assert!(
        text.contains("1 x app::serve ") && !text.contains("names.rs"),
        "{text}"
    );
    let name = String::new();
    let text = stuck(&trace(modules(), Place::Function { address, name }));
    assert!(
        text.contains("names::stuck") && text.contains("cli/names.rs:"),
        "{text}"
    );
}

#[test]
fn addresses_outside_code_have_no_name() {
    let on_the_heap = Box::new(7);
    let address = &raw const *on_the_heap as usize as u64;
    let text = stuck(&trace(modules(), Place::Address(address)));
    assert!(
        text.contains("1 x (no name)") && text.contains("(place not recorded)"),
        "{text}"
    );
    assert!(!text.contains("note:"), "{text}");
}

#[test]
fn kernel_code_is_shown_by_offset() {
    let vdso = |module: &Module| module.path == b"[vdso]";
    let Some(vdso) = modules().into_iter().find(vdso) else {
        return;
    };
    let text = stuck(&trace(modules(), Place::Address(vdso.start + 0x123)));
    assert!(text.contains("1 x (no name)"), "{text}");
    assert!(text.contains("  [vdso]+0x123\n"), "{text}");
}

#[test]
fn missing_and_rebuilt_files_get_a_note() {
    let line = await_line();
    let place = Place::Source {
        file: file!().to_owned(),
        line,
        column: 0,
    };
    for (path, build_id) in [(Some("/gone/app"), vec![]), (None, vec![0xee; 20])] {
        let text = stuck(&trace(
            modules()
                .into_iter()
                .map(|mut module| {
                    if let Some(path) = path {
                        module.path = path.as_bytes().to_vec();
                    }
                    module.build_id.clone_from(&build_id);
                    module
                })
                .collect(),
            place.clone(),
        ));
        assert!(text.contains("note: names are missing: "), "{text}");
        assert!(!text.contains("reads_a_frame"), "{text}");
        assert!(
            text.contains(&format!("{}:{line}", file!())),
            "the trace knows the line: {text}"
        );
    }
}

// LT-22
#[test]
fn symfs_finds_files_of_another_machine() {
    let line = await_line();
    let place = Place::Source {
        file: "elsewhere/names.rs".to_owned(),
        line,
        column: 0,
    };
    let address = stuck as *const () as usize as u64;
    let program = std::env::current_exe().unwrap();
    let elsewhere = |mut module: Module| {
        if module.path == program.as_os_str().as_encoded_bytes() {
            module.path = b"/opt/there/app".to_vec();
        }
        module
    };
    let there: Vec<Module> = modules().into_iter().map(elsewhere).collect();
    let test_dir = TestDir::new();
    fs::create_dir_all(test_dir.path("root/opt/there")).unwrap();
    fs::create_dir_all(test_dir.path("root/elsewhere")).unwrap();
    std::os::unix::fs::symlink(&program, test_dir.path("root/opt/there/app")).unwrap();
    let source = include_str!("names.rs");
    fs::write(test_dir.path("root/elsewhere/names.rs"), source).unwrap();

    fs::write(
        test_dir.path("a.data"),
        trace(there.clone(), Place::Address(address)),
    )
    .unwrap();
    let text = test_dir.text(&["--stuck", "-i", "a.data"]);
    assert!(
        text.contains("--symfs") && !text.contains("names::stuck"),
        "{text}"
    );
    let text = test_dir.text(&["--stuck", "-i", "a.data", "--symfs", "root"]);
    assert!(
        text.contains("names::stuck") && !text.contains("note:"),
        "{text}"
    );

    fs::write(test_dir.path("b.data"), trace(there, place)).unwrap();
    let text = test_dir.text(&["--stuck", "-i", "b.data", "--symfs", "root"]);
    assert!(text.contains("std::future::ready(()).await;"), "{text}");
}

/// One that was spawned at this place, and then ran for four seconds.
fn long_run(modules: Vec<Module>, place: Place) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    let (coroutine, process) = (CoroutineId(1), ProcessId(1));
    let site = Site {
        id: SiteId(1),
        process,
        place,
    };
    let birth = Birth {
        coroutine,
        process,
        spawn_site: SiteId(1),
        ..Birth::default()
    };
    let event = |n, at, kind| {
        Record::Event(Event {
            coroutine,
            n,
            at: Nanos(at),
            tid: 7,
            kind,
            ..Event::default()
        })
    };
    let records = modules.into_iter().map(Record::Module);
    let events = [
        event(0, 0, EventKind::Birth),
        event(1, 1, EventKind::Run),
        event(2, 4_000_000_000, EventKind::Death),
    ];
    records
        .chain([Record::Site(site), Record::Birth(birth)])
        .chain(events)
        .for_each(|record| writer.write(&record).unwrap());
    writer.finish(&End::default()).unwrap()
}

#[test]
fn lints_of_functions_and_lines_differ() {
    let function = Place::Function {
        address: stuck as *const () as usize as u64,
        name: String::new(),
    };
    let line = Place::Source {
        file: file!().to_owned(),
        line: await_line(),
        column: 0,
    };
    for (place, in_function) in [(function, true), (line, false)] {
        let test_dir = TestDir::new();
        fs::write(test_dir.path("ctp.data"), long_run(modules(), place)).unwrap();
        let json: serde_json::Value = serde_json::from_str(&test_dir.text(&["--json"])).unwrap();
        let lint = &json["lints"][0];
        assert_eq!(lint["lint"], "never-yielded", "{json}");
        assert_eq!(lint["in_function"] == true, in_function, "{lint}");
        assert!(lint["line"].is_u64(), "{lint}");
    }
}

#[test]
fn changed_sources_are_reported() {
    let test_dir = TestDir::new();
    let warning = "(the file was changed after the recording began)";
    let before = test_dir.text(&["--stuck", "-i", "lost_wakeup.data"]);
    assert!(!before.contains(warning), "{before}");
    test_dir.date("src/session.rs", 1_800_000_000);
    let after = test_dir.text(&["--stuck", "-i", "lost_wakeup.data"]);
    assert!(after.contains(warning), "{after}");
}

/// Coroutines of these names, all of which wait at one line of which no function is known.
fn waiting_at_same_line(names: &[&str]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Start::default()).unwrap();
    let (site, file) = (SiteId(1), "src/gone.rs".to_owned());
    let place = Place::Source {
        file,
        line: 7,
        column: 0,
    };
    let process = ProcessId(1);
    let site_record = Record::Site(Site {
        id: site,
        process,
        place,
    });
    writer.write(&site_record).unwrap();
    for (coroutine, name) in (1..).map(CoroutineId).zip(names) {
        let birth = Birth {
            coroutine,
            process,
            name: (*name).to_owned(),
            ..Birth::default()
        };
        let suspend = Event {
            coroutine,
            kind: EventKind::Suspend,
            site,
            ..Event::default()
        };
        writer.write(&Record::Birth(birth)).unwrap();
        writer.write(&Record::Event(suspend)).unwrap();
    }
    writer.finish(&End::default()).unwrap()
}

// CT-13
#[test]
fn numbered_names_on_a_line_are_a_group_without_functions() {
    let page = stuck(&waiting_at_same_line(&["conn-7", "conn-8", "conn-19", "2"]));
    assert!(page.contains("3 x conn-* "), "{page}");
    assert!(page.contains("1 x 2 "), "{page}");
    let page = stuck(&waiting_at_same_line(&["http2", "http2"]));
    assert!(page.contains("2 x http2 "), "{page}");
}

// CT-14
#[test]
fn standard_library_code_is_no_waker() {
    let test_dir = TestDir::new();
    let page = |address: usize, view: &[&str]| {
        let trace = traces::woken_from(modules(), address as u64 + 1);
        fs::write(test_dir.path("ctp.data"), trace).unwrap();
        test_dir.text(view)
    };
    let of_library = std::thread::yield_now as *const () as usize;
    let stuck = page(of_library, &["--stuck"]);
    assert!(
        stuck.contains("usual waker  a thread outside of coroutines"),
        "{stuck}"
    );
    assert!(
        stuck.contains("woke this site 5 900 of 5 900 times"),
        "{stuck}"
    );
    let why = page(of_library, &["--why", "3"]);
    assert!(why.contains(" woke id 3\n"), "{why}");
    let json = page(of_library, &["--stuck", "--json"]);
    assert!(![stuck, why, json].concat().contains("yield_now"));
    let own = page(self::stuck as *const () as usize, &["--stuck"]);
    assert!(own.contains("usual waker  cli::names::stuck"), "{own}");
}
