//! From what the user asked for to what is printed.

use std::io::{self, Write};

use anyhow::{Result, bail};
use ctp_trace::Census;
use ctp_trace::census::Span;
use ctp_trace::escape::escaped;
use ctp_trace::record::{CoroutineId, Nanos, Record};
use serde_json::Value;
use symbolize::Places;

use crate::config::{
    By, Config, Detail, ExportView, FlameView, LastWordsView, SitesView, StuckView, TimelineView,
    TracksView, TreeView, View, WhyView,
};
use crate::document::rows_by::RowsBy;
use crate::document::{header, hints, json};
use crate::evidence::Member;
use crate::findings::crash::Crash;
use crate::findings::gate::{self, Status};
use crate::findings::{alarms_text, contradictions, crash, leaks, lints, lints_text, notes};
use crate::load::Input;
use crate::load::model::Model;
use crate::names::Names;
use crate::text::page::Page;
use crate::time_scale::Scale;
use crate::views::export::model::Exporter;
use crate::views::flame::model::Folder;
use crate::views::histogram::model as histogram;
use crate::views::last_words::model::{self as last_words, Listener};
use crate::views::sites::model as sites;
use crate::views::stuck::{deadlocks, model as groups};
use crate::views::timeline::model::{self as timeline, Crowd};
use crate::views::tracks::model::Tracks;
use crate::views::tree::model as tree;
use crate::views::why::causes::Causes;
use crate::views::why::model as why;
use crate::{load, views};

/// Does what the user asked for.
///
/// # Errors
/// If the trace cannot be read, or `out` or a file cannot be written.
pub fn run(config: &Config, out: &mut dyn Write) -> Result<Status> {
    match &config.view {
        View::Fixed(text) => out.write_all(text)?,
        View::Sites(view) => self::sites(config, view, out)?,
        View::Stuck(view) => return stuck(config, view, out),
        View::Flame(view) => flame(config, view, out)?,
        View::Timeline(view) => timeline(config, view, out)?,
        View::LastWords(view) => words(config, view, out)?,
        View::Tree(view) => tree(config, *view, out)?,
        View::Why(view) => why(config, *view, out)?,
        View::Histogram => histogram(config, out)?,
        View::Dump => dump(config, out)?,
        View::Export(view) => export(config, view, out)?,
        View::Tracks(view) => tracks(config, view, out)?,
    }
    Ok(Status::Fine)
}

/// Whether an error only says that nobody reads any more.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        let json = cause
            .downcast_ref::<serde_json::Error>()
            .and_then(serde_json::Error::io_error_kind);
        cause.downcast_ref::<io::Error>().is_some_and(kind)
            || json == Some(io::ErrorKind::BrokenPipe)
    })
}

fn read(config: &Config) -> Result<(Model, Names)> {
    read_with(config, |_, _| {}, |_, _| {})
}

/// A trace that is not empty, and what its places are called. `see` sees every record before the
/// census does, `each` every stretch of time that ended.
fn read_with(
    config: &Config,
    see: impl FnMut(&Census, &Record),
    each: impl FnMut(&Census, &Span),
) -> Result<(Model, Names)> {
    let input = load::open(config)?;
    let model = input.model(see, each)?;
    model.check_not_empty()?;
    let names = Names::resolve(&model, &places(config, &input));
    Ok((model, names))
}

/// Where the files of modules lie, which may take what the trace left of the memory.
fn places(config: &Config, input: &Input) -> Places {
    let places = config.places.clone();
    match config.most_module {
        Some(_) => places,
        None => {
            let most = places.most_bytes().min(input.allowance().left());
            places.with_most_bytes(most)
        }
    }
}

fn head(config: &Config, page: &mut Page, model: &Model, names: &Names) -> io::Result<()> {
    match config.detail {
        Detail::Quiet => Ok(()),
        detail => header::write(page, model, names, detail),
    }
}

/// What went so wrong that every page says it.
fn alarms(page: &mut Page, model: &Model, names: &Names) -> io::Result<()> {
    alarms_text::crash(page, crash::crash(model, names).as_ref())?;
    alarms_text::broken(page, &contradictions::broken(model, names))
}

/// Writes a page below what stands above every page, or what it tells as a document in JSON.
fn page(
    config: &Config,
    (model, names): (&Model, &Names),
    out: &mut dyn Write,
    document: impl FnOnce(&Value) -> Value,
    write: impl FnOnce(&mut Page) -> io::Result<()>,
) -> Result<()> {
    if config.json {
        let document = document(&json::told(model, names));
        return Ok(json::write(&document, out)?);
    }
    let mut page = Page::new(out);
    head(config, &mut page, model, names)?;
    alarms(&mut page, model, names)?;
    Ok(write(&mut page)?)
}

/// Says what was written, unless nobody wants to know.
fn confirm(
    config: &Config,
    said: impl IntoIterator<Item = String>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut said = said.into_iter().filter(|_| config.detail != Detail::Quiet);
    Ok(said.try_for_each(|line| writeln!(out, "{}", escaped(&line)))?)
}

fn sites(config: &Config, view: &SitesView, out: &mut dyn Write) -> Result<()> {
    let mut watch = lints::Watch::default();
    let (model, names) = read_with(
        config,
        |census, record| watch.see(census, record),
        |_, _| {},
    )?;
    let rows = sites::rows(&model, &names, view);
    let leaks = leaks::leaks(&model, &names);
    let lints = lints::lints(&model, &names, watch, &view.allow);
    let document =
        |trace: &Value| json::sites(trace, RowsBy::of_sites(&model), (&rows, &lints, &leaks));
    page(config, (&model, &names), out, document, |page| {
        let by_name = model.is_by_name();
        views::sites::text::table(page, &rows, by_name)?;
        let first_runs = sites::first_runs(&model, &names);
        views::sites::text::long_runs(page, &rows, &first_runs, by_name)?;
        lints_text::page(page, &lints, &hints::tool(config))?;
        views::sites::text::leaks(page, &leaks)?;
        match config.detail {
            Detail::Quiet => Ok(()),
            _ => views::sites::text::hints(page, &hints::tool(config), by_name),
        }
    })
}

fn histogram(config: &Config, out: &mut dyn Write) -> Result<()> {
    let (model, names) = read(config)?;
    let charts = histogram::charts(&model, &names);
    let document = |trace: &Value| json::histogram(trace, histogram::charts_by(&model), &charts);
    page(config, (&model, &names), out, document, |page| {
        views::histogram::text::page(page, &charts, &hints::tool(config))
    })
}

fn stuck(config: &Config, view: &StuckView, out: &mut dyn Write) -> Result<Status> {
    let input = load::open(config)?;
    let model = input.model(|_, _| {}, |_, _| {})?;
    match model.check_not_empty() {
        Err(empty) if view.fail => return Ok(Status::Untold(empty.to_string())),
        checked => checked?,
    }
    let names = Names::resolve(&model, &places(config, &input));
    let members = groups::members(&model, &names, view);
    let groups = groups::groups(&model, &names, &members);
    let deadlocks = deadlocks::deadlocks(&model, &names, &members);
    let document = |trace: &Value| {
        let found = json::Found {
            groups: &groups,
            deadlocks: &deadlocks,
            leaks: &leaks::leaks(&model, &names),
        };
        json::stuck(trace, view.threshold, &found)
    };
    page(config, (&model, &names), out, document, |page| {
        views::stuck::text::page(page, &groups, &deadlocks, &names, view)?;
        match config.detail {
            Detail::Quiet => Ok(()),
            _ => views::stuck::text::hints(
                page,
                (&hints::tool(config), model.is_by_name()),
                &groups,
                &names,
                view,
            ),
        }
    })?;
    Ok(match view.fail {
        true => gate::check(&model, &members, view.threshold),
        false => Status::Fine,
    })
}

fn words(config: &Config, view: &LastWordsView, out: &mut dyn Write) -> Result<()> {
    let mut listener = Listener::default();
    let (model, names) = read_with(config, |_, record| listener.hear(record), |_, _| {})?;
    let all = view.all_ids || config.json;
    let told = if all { usize::MAX } else { last_words::TOLD };
    let words = listener.finish(&model, &names, told);
    let document = |trace: &Value| json::last_words(trace, &words);
    page(config, (&model, &names), out, document, |page| {
        views::last_words::text::page(page, &words, told, model.duration())
    })
}

fn tree(config: &Config, view: TreeView, out: &mut dyn Write) -> Result<()> {
    let (model, names) = read(config)?;
    let tree = tree::tree(&model, &names, view.threshold);
    let document = |trace: &Value| json::tree(trace, &model, view.threshold, &tree);
    page(config, (&model, &names), out, document, |page| {
        views::tree::text::table(page, &tree, view.all_ids)?;
        let unknown = model.census.parents_unknown();
        match config.detail {
            Detail::Quiet => Ok(()),
            _ => views::tree::text::hints(page, &tree, &hints::tool(config), unknown),
        }
    })
}

fn why(config: &Config, view: WhyView, out: &mut dyn Write) -> Result<()> {
    let mut causes = Causes::default();
    let mut asked = why::Asked::of(view.id);
    let see = |census: &Census, record: &Record| {
        causes.see(census, record);
        asked.see(record);
    };
    let (model, names) = read_with(config, see, |_, _| {})?;
    let judged = model.census.judge(view.threshold).into_iter();
    let members = judged.filter_map(|(id, it)| Some((model.census.get(id)?, it)));
    let members: Vec<Member> = members.collect();
    let Some(why) = why::why(&model, &names, &causes, &members, view.id) else {
        bail!(
            "{}; --stuck --ids and --last-words list those that were alive at the end",
            asked.why_not(model.census.totals().coroutines)
        );
    };
    let document = |trace: &Value| json::why(trace, &why);
    page(config, (&model, &names), out, document, |page| {
        views::why::text::page(page, &why)
    })
}

fn flame(config: &Config, view: &FlameView, out: &mut dyn Write) -> Result<()> {
    let mut folder = Folder::new(view.by);
    let (model, names) = read_with(config, |_, _| {}, |census, span| folder.add(census, span))?;
    warn(&model);
    let stacks = folder.finish(&model, &names);
    let said = views::flame::output::write(&model, &stacks, view, out)?;
    if !config.json {
        return confirm(config, said, out);
    }
    let by = if view.by == By::Wait { "wait" } else { "run" };
    let document = json::stacks(&json::trace(&model, &names), by, &stacks);
    Ok(json::write(&document, out)?)
}

/// Says what is missing of what goes into a file, or to a program, where no page says it.
fn warn(model: &Model) {
    tell(notes::unread(model));
}

fn tell(notes: impl IntoIterator<Item = impl std::fmt::Display>) {
    for what in notes {
        // Without a standard error there is nobody to say it to.
        let _ = writeln!(
            io::stderr(),
            "ctp-report: note: {}",
            escaped(&what.to_string())
        );
    }
}

/// Reads twice: to learn who there is, and to gather what those did that are shown.
fn timeline(config: &Config, view: &TimelineView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let (from, to) = match view.time {
        (Nanos(0), None) => (input.since()?, None),
        asked => asked,
    };
    let window = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
    let mut crowd = Crowd::new(window);
    let model = input.model(|census, record| crowd.see(census, record), |_, _| {})?;
    model.check_not_empty()?;
    let names = Names::resolve(&model, &places(config, &input));
    let scale = Scale::new(
        from,
        to.map_or(model.duration(), |to| to.min(model.duration())),
    );
    let threads = crowd.threads();
    let lives = std::mem::take(&mut crowd.lives).pick(&model.census, &scale);
    let crash = crash::crash(&model, &names);
    let crashed = crash.as_ref().and_then(Crash::culprit);
    let crashed = crashed.map(|culprit| CoroutineId(culprit.id));
    let selection = timeline::pick(&model.census, crowd, &scale, view.threshold, crashed);
    let (rows, arrows) = timeline::collect(input.reader()?, &selection, &scale);
    let picture = views::timeline::svg::Picture {
        rows: &rows,
        arrows: &arrows,
        model: &model,
        names: &names,
        selection: &selection,
        blocks: &model.census.blocks(),
        crash: crash.as_ref(),
        scale,
        threads,
        lives: &lives,
    };
    let said = views::timeline::svg::write(&picture, view, out)?;
    confirm(config, said, out)
}

fn dump(config: &Config, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    if !config.json {
        views::dump::text::left_out(input.imported(), out)?;
        return Ok(views::dump::text::text(input.reader()?, out)?);
    }
    let model = input.model(|_, _| {}, |_, _| {})?;
    let trace = json::trace(&model, &Names::default());
    write!(
        out,
        "{{\n  \"version\": {},\n  \"trace\": {trace},\n  \"records\": [",
        json::VERSION
    )?;
    views::dump::text::json(input.reader()?, out)?;
    Ok(writeln!(out, "  ]\n}}")?)
}

fn export(config: &Config, view: &ExportView, out: &mut dyn Write) -> Result<()> {
    let mut exporter = Exporter::default();
    let model = load::open(config)?.model(|_, record| exporter.see(record), |_, _| {})?;
    model.check_not_empty()?;
    warn(&model);
    let rows = exporter.finish(&model);
    let said = views::export::text::write(&model, &rows, view, out)?;
    confirm(config, said, out)
}

/// Reads twice: to learn what all is called, and to write what is done as it goes by.
fn tracks(config: &Config, view: &TracksView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let model = input.model(|_, _| {}, |_, _| {})?;
    model.check_not_empty()?;
    let names = Names::resolve(&model, &places(config, &input));
    warn(&model);
    tell(names.misses());
    let (from, to) = view.time;
    let scale = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
    let mut tracks = Tracks::new(&model, &names, scale);
    let said = views::tracks::json::write(view, out, |sink| {
        tracks.begin(sink);
        input.model(|census, it| tracks.take(census, it, sink), |_, _| {})?;
        tracks.finish(view.threshold, sink);
        Ok(())
    })?;
    confirm(config, said, out)
}
