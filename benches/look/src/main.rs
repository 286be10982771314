//! The program with a few types of tasks.

use ctp_benches_look::nested;

fn main() {
    ctp_benches_look::run(&[nested::start::<0>]);
}
