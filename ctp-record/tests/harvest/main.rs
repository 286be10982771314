//! The pass over the memory, without processes: memory in this program, written by the probe on a
//! platform that is hardly one, or word by word where a probe of ours would not write so.

mod amid_notes;
mod amid_updates;
mod chains;
mod desk;
mod ends;
mod flight;
mod jumps;
mod lanes;
mod nested;
mod nonsense;
mod ours;
mod overload;
mod plain;
mod short_lanes;
mod summary;
mod sweep;
