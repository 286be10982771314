//! The fields of records about processes, and about the files that processes have mapped.

use ctp_trace::record::{Module, Process, ProcessEnd, ProcessExit};

use super::{Field, address};
use crate::text::{escape_bytes, units};

pub(super) fn process_fields(process: &Process) -> Vec<Field> {
    vec![("id", process.id.0.into()), ("pid", process.pid.into())]
}

pub(super) fn process_end_fields(process_end: &ProcessEnd) -> Vec<Field> {
    let how = match process_end.how {
        ProcessExit::Exited(status) => format!("exit {status}"),
        ProcessExit::Signalled(signal) => format!("signal {signal}"),
        ProcessExit::Exec => "exec".to_owned(),
        _ => "gone".to_owned(),
    };
    vec![
        ("process", process_end.process.0.into()),
        ("how", how.into()),
    ]
}

pub(super) fn module_fields(module: &Module) -> Vec<Field> {
    vec![
        ("process", module.process.0.into()),
        ("start", address(module.start)),
        ("end", address(module.end)),
        ("file_offset", address(module.file_offset)),
        ("path", escape_bytes(&module.path).into()),
        ("build_id", units::hex(&module.build_id).into()),
    ]
}
