//! Turns each record into a word for its kind and a list of fields, for the dump as text and as JSON.

mod coroutine;
mod inspection;
mod observed;
mod place;
mod process;
mod recording;
mod thread;
mod totals;

use ctp_trace::record::{Nanos, Record};
use serde_json::Value;

use coroutine::{birth_fields, event_counts_fields, event_fields, event_kind, wake_fields};
use observed::{coroutine_stack_fields, look_fields, sockets_fields, threads_fields};
use place::{branches_fields, chain_fields, leaf_fields, site_fields};
use process::{module_fields, process_end_fields, process_fields};
use recording::{control_fields, end_fields, start_fields, window_fields};
use thread::thread_event_fields;
use totals::{aggregate_fields, earlier_fields, ended_sums_fields};

/// The fields of a record.
#[derive(Clone, Debug)]
pub struct Fields {
    /// The word for the kind of record.
    pub word: &'static str,
    /// The time of the record, if it has one.
    pub at: Option<Nanos>,
    /// The other fields.
    pub rest: Vec<Field>,
}

/// Returns the fields of a record.
pub fn of(record: &Record) -> Fields {
    match record {
        Record::Start(start) => fields("start", None, start_fields(start)),
        Record::Process(process) => {
            fields("process", Some(process.attached), process_fields(process))
        }
        Record::Module(module) => fields("module", None, module_fields(module)),
        Record::Site(site) => fields("site", None, site_fields(site)),
        Record::Chain(chain) => fields("chain", None, chain_fields(chain)),
        Record::Branches(branches) => fields("branches", None, branches_fields(branches)),
        Record::Birth(birth) => fields("birth", Some(birth.at), birth_fields(birth)),
        Record::Event(event) => fields(event_kind(event.kind), Some(event.at), event_fields(event)),
        Record::Wake(wake) => fields("wake", Some(wake.at), wake_fields(wake)),
        Record::ThreadEvent(thread_event) => thread_event_fields(thread_event),
        Record::EventCounts(event_counts) => {
            fields("event-counts", None, event_counts_fields(event_counts))
        }
        Record::ProcessEnd(process_end) => fields(
            "process-ends",
            Some(process_end.at),
            process_end_fields(process_end),
        ),
        Record::Aggregate(aggregate) => {
            fields("totals", Some(aggregate.at), aggregate_fields(aggregate))
        }
        Record::Control(control) => fields("control", Some(control.at), control_fields(control)),
        Record::Window(window) => fields("window", Some(window.since), window_fields(window)),
        Record::Earlier(earlier) => fields("earlier", None, earlier_fields(earlier)),
        Record::EndedSums(ended_sums) => fields("ended-sums", None, ended_sums_fields(ended_sums)),
        Record::Threads(threads) => fields("threads", Some(threads.at), threads_fields(threads)),
        Record::Sockets(sockets) => fields("sockets", Some(sockets.at), sockets_fields(sockets)),
        Record::Leaf(leaf) => fields("leaf", None, leaf_fields(leaf)),
        Record::Look(look) => fields("look", Some(look.at), look_fields(look)),
        Record::CoroutineStack(stack) => {
            fields("call-stack", Some(stack.at), coroutine_stack_fields(stack))
        }
        Record::Inspection(_)
        | Record::AwaitStack(_)
        | Record::InspectedTask(_)
        | Record::InspectedThread(_)
        | Record::InspectionEnd(_) => inspection::fields_of(record),
        Record::Watermark(at) => fields("watermark", Some(*at), vec![]),
        Record::End(end) => fields("end", Some(end.at), end_fields(end)),
        _ => fields("unknown", None, vec![]),
    }
}

/// The name and the value of a field.
type Field = (&'static str, Value);

fn fields(word: &'static str, at: Option<Nanos>, rest: Vec<Field>) -> Fields {
    Fields { word, at, rest }
}

fn address(address: u64) -> Value {
    format!("{address:#x}").into()
}
