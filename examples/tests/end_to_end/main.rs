//! The examples under the real recorder, and what the real reporter says of them.

mod attached_later;
mod awaited;
mod containers;
mod core_files;
mod cortex_m;
mod deadlocks;
mod disturbed;
mod dump;
mod embassy;
mod embassy_live;
mod event_counts;
mod family;
mod interchange;
mod live_recorder;
mod lost_wakeup;
mod machine;
mod other_languages;
mod readme;
mod riscv;
mod stackful;
mod stackful_program;
mod support;
mod tokio_tasks;
mod unprobed;
mod why;
mod zoo;
