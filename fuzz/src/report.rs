//! Interprets the input as a trace, and writes every view of the report.

use std::fs;
use std::path::{Path, PathBuf};

use anstream::ColorChoice;
use ctp_report::{
    CheckView, Config, CtfView, Detail, DiffView, ExportView, FlameView, FlameWidth, Format,
    HtmlView, LeastChange, ProfileFormat, ProfileView, SiteField, SitesView, Sort, StacksView,
    StuckView, TableFormat, TablesView, TimelineView, TrackFormat, TracksView, View, WhyView,
    Width, rules, run,
};
use ctp_trace::record::Nanos;
use ctp_trace::verdict::THRESHOLD;
use symbolize::SearchPaths;

use crate::elf::own_path;
use crate::trace::file;

/// Checks that every view is written, as text and as JSON, or fails with an error.
pub fn report(bytes: &[u8]) {
    let Some(trace) = file(bytes) else {
        return;
    };
    let path = own_path();
    fs::write(&path, trace).expect("there is room in the temporary directory");
    let folders = ["ctf", "tables"].map(|extension| path.with_extension(extension));
    let id = u32::from(bytes[bytes.len() / 2]);
    let mut views = views(id, &path);
    let [ctf_folder, tables_folder] = folders.clone();
    views.extend([ctf(ctf_folder), tables(tables_folder)]);
    for view in views {
        for (json, width) in [
            (false, Width::Full),
            (false, Width::Columns(40)),
            (true, Width::Full),
        ] {
            let config = config(&path, view.clone(), json, width);
            // An error is fine: the trace may be unreadable.
            drop(run(&config, &mut Vec::new()));
        }
    }
    fs::remove_file(path).expect("the file is still there");
    for folder in folders {
        // There is no folder if the trace cannot be exported.
        drop(fs::remove_dir_all(folder));
    }
}

fn config(input: &Path, view: View, json: bool, width: Width) -> Config {
    Config {
        input: input.to_owned(),
        run: None,
        search_paths: SearchPaths::recorded(),
        skip: Default::default(),
        max_module: None,
        max_memory: None,
        view,
        filter: Default::default(),
        json,
        detail: Detail::Verbose,
        color: ColorChoice::Never,
        width,
        has_links: true,
        has_pager: false,
    }
}

fn stacks(svg: Option<PathBuf>) -> StacksView {
    StacksView {
        id: None,
        svg,
        threshold: THRESHOLD,
        all_ids: true,
        title: None,
    }
}

fn stuck(markdown: Option<PathBuf>) -> StuckView {
    StuckView {
        threshold: THRESHOLD,
        fail: true,
        all_ids: true,
        ignore: Default::default(),
        markdown,
    }
}

fn why(id: Option<u32>) -> WhyView {
    WhyView {
        id,
        threshold: THRESHOLD,
        all_ids: true,
    }
}

/// A comparison of the trace with itself.
fn diff(path: &Path) -> DiffView {
    DiffView {
        before: path.to_owned(),
        after: path.to_owned(),
        least: LeastChange {
            share: 0.0,
            time: Nanos(0),
        },
        flame: None,
    }
}

/// Rules of all kinds.
fn check() -> CheckView {
    let text =
        "stuck=0,likely=0,lost=0,leaks=0,busy<1s,p99(wait,site=a)<1s,mean(ready)<1s,max(run)<1s";
    CheckView {
        rules: rules::parse(text).expect("the rules are valid").0,
        deny: vec!["self-wakes".to_owned(), "lost-waker".to_owned()],
        threshold: THRESHOLD,
        ignore: Default::default(),
        junit: None,
    }
}

fn tracks(format: TrackFormat) -> View {
    View::Tracks(TracksView {
        format,
        threshold: THRESHOLD,
        output: None,
    })
}

/// The Common Trace Format.
fn ctf(output: PathBuf) -> View {
    View::Ctf(CtfView {
        output,
        judged: stuck(None),
    })
}

/// The tables, in the format that needs no further packages.
fn tables(output: PathBuf) -> View {
    View::Tables(TablesView {
        format: TableFormat::Csv,
        output,
        judged: stuck(None),
    })
}

fn profile(format: ProfileFormat) -> View {
    View::Profile(ProfileView {
        format,
        output: None,
    })
}

fn views(id: u32, path: &Path) -> Vec<View> {
    let stdout = || PathBuf::from("-");
    let flame = |by, is_drawn: bool| FlameView {
        svg: is_drawn.then(stdout),
        folded: (!is_drawn).then(stdout),
        by,
        title: None,
    };
    vec![
        View::Sites(SitesView {
            sort: vec![Sort::P99, Sort::Share],
            fields: vec![SiteField::P50, SiteField::Stddev, SiteField::Site],
            limit: Some(1),
            percent_limit: 0.0,
            allow: Vec::new(),
        }),
        View::Stuck(stuck(None)),
        View::Stuck(stuck(Some(stdout()))),
        View::Html(HtmlView {
            html: stdout(),
            stuck: stuck(None),
            title: None,
        }),
        View::Stacks(stacks(None)),
        View::Stacks(stacks(Some(stdout()))),
        View::Flame(flame(FlameWidth::Wait, true)),
        View::Flame(flame(FlameWidth::Run, false)),
        View::Timeline(TimelineView {
            svg: stdout(),
            threshold: THRESHOLD,
            title: None,
        }),
        View::LastWords { all_ids: true },
        View::Tree {
            threshold: THRESHOLD,
            all_ids: true,
        },
        View::Why(why(Some(id))),
        View::Why(why(None)),
        View::Check(check()),
        View::Diff(diff(path)),
        View::Histogram,
        View::Dump,
        View::Export(ExportView {
            format: Format::Jsonl,
            output: None,
        }),
        tracks(TrackFormat::Chrome),
        tracks(TrackFormat::Firefox),
        tracks(TrackFormat::Perfetto),
        tracks(TrackFormat::Otlp),
        profile(ProfileFormat::Speedscope),
        profile(ProfileFormat::Pprof),
    ]
}
