//! Passes over memory of this process, without other processes. The memory is written by the probe on a
//! minimal platform, or word by word to imitate other probes and faults.

mod chains;
mod damaged_memory;
mod flight;
mod idle;
mod interrupted_notes;
mod interrupted_updates;
mod jumps;
mod lanes;
mod lanes_taken_during_pass;
mod nested;
mod overload;
mod own_probe;
mod reaped_stations;
mod recording_end;
mod scan_schedule;
mod short_lanes;
mod summary;
mod test_memory;
mod v1_peers;
