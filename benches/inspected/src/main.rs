//! The program with a few types of tasks.

use ctp_benches_inspected::nested;

fn main() {
    ctp_benches_inspected::run(&[nested::start::<0>]);
}
