//! Bounds what is kept of a trace: the length of names, and the memory in total.

use anyhow::Result;
use ctp_trace::record::{
    AwaitFrame, HeldLock, InspectedTask, InspectedThread, Place, Record, SiteId, TaskWait,
    WakerHolder,
};

use crate::load::memory::Allowance;
use crate::text;

/// Takes a record into account before it is kept, and truncates its names.
///
/// # Errors
/// If the process has become too large.
#[inline]
pub(super) fn admit(record: &mut Record, allowance: &mut Allowance) -> Result<()> {
    if is_event(record) {
        return allowance.count(RECORD_BYTES);
    }
    bound_names(record);
    allowance.count(weight(record))
}

/// Whether the record is an event, which has no names. Nearly all records are events.
#[inline]
pub(super) fn is_event(record: &Record) -> bool {
    matches!(record, Record::Event(_) | Record::ThreadEvent(_))
}

/// Truncates names that are too long to be shown, since each may be kept many times.
fn bound_names(record: &mut Record) {
    match record {
        Record::Birth(birth) => text::bound(&mut birth.name),
        Record::EndedSums(ended_sums) => text::bound(&mut ended_sums.name),
        Record::AwaitStack(stack) => {
            for frame in &mut stack.frames {
                text::bound(&mut frame.name);
                text::bound(&mut frame.file);
            }
        }
        Record::InspectedTask(task) => text::bound(&mut task.name),
        Record::InspectedThread(thread) => text::bound(&mut thread.name),
        Record::Module(module) => module.path.truncate(MAX_PATH_BYTES),
        Record::Site(site) => match &mut site.place {
            Place::Source { file: name, .. } | Place::Function { name, .. } => text::bound(name),
            _ => {}
        },
        _ => {}
    }
}

/// The approximate memory for a record that is kept.
fn weight(record: &Record) -> u64 {
    let more = match record {
        Record::Start(start) => start
            .argv
            .iter()
            .map(|argv| argv.len() + ARGUMENT_BYTES)
            .sum(),
        Record::Module(module) => module.path.len() + module.build_id.len(),
        Record::Birth(birth) => birth.name.len(),
        Record::Chain(chain) => chain.addresses.len() * size_of::<u64>(),
        Record::CoroutineStack(stack) => stack.addresses.len() * size_of::<u64>(),
        Record::Branches(branches) => branches.sites.len() * size_of::<SiteId>(),
        Record::Site(site) => match &site.place {
            Place::Source { file, .. } => file.len(),
            Place::Function { name, .. } => name.len(),
            _ => 0,
        },
        Record::EndedSums(ended_sums) => ended_sums.name.len(),
        Record::AwaitStack(stack) => {
            let frames = stack.frames.iter();
            frames
                .map(|frame| size_of::<AwaitFrame>() + frame.name.len() + frame.file.len())
                .sum()
        }
        Record::InspectedTask(task) => weight_of_task(task),
        Record::InspectedThread(thread) => {
            size_of::<InspectedThread>() + thread.name.len() + thread.addresses.len() * 8
        }
        Record::InspectionEnd(end) => (end.ended.len() + end.ended_threads.len()) * 4,
        _ => 0,
    };
    RECORD_BYTES + more as u64
}

fn weight_of_task(task: &InspectedTask) -> usize {
    size_of::<InspectedTask>()
        + task.name.len()
        + task.waker_holders.len() * size_of::<WakerHolder>()
        + task.waits.len() * size_of::<TaskWait>()
        + task
            .holds
            .iter()
            .map(|hold| size_of::<HeldLock>() + hold.variable.len())
            .sum::<usize>()
}

/// The approximate memory for a record without names and lists.
pub(super) const RECORD_BYTES: u64 = 64;
/// The longest path that Linux can open, plus ` (deleted)`, which the kernel may append.
const MAX_PATH_BYTES: usize = 4096 + 16;
const ARGUMENT_BYTES: usize = 24;
