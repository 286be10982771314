//! Healthy variants of the programs of the zoo: each gets an argument that removes the fault.

use crate::zoo::check_with;

// CT-15
#[test]
fn services_that_can_answer_are_not_stuck() {
    check_with("zoo_ask_ring", &["answered"]);
}

// CT-15
#[test]
fn frames_that_arrive_whole_leave_nothing_stuck() {
    check_with("zoo_half_frame", &["whole"]);
}

// CT-15
#[test]
fn workers_without_a_job_are_not_stuck() {
    check_with("zoo_full_queue", &["idle"]);
}

// CT-15
#[test]
fn intake_that_loses_no_permit_is_not_stuck() {
    check_with("zoo_lost_permits", &["careful"]);
}

// CT-15
#[test]
fn cleaner_that_wants_what_there_is_is_not_stuck() {
    check_with("zoo_too_many_permits", &["modest"]);
}
