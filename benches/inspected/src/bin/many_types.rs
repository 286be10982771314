//! The program with many types of tasks, and thus much debug info.

use ctp_benches_inspected::nested;

/// The functions that start tasks of ten types each.
macro_rules! starts {
    ($($tens:literal)*) => {
        [$(
            nested::start::<{ 10 * $tens }>,
            nested::start::<{ 10 * $tens + 1 }>,
            nested::start::<{ 10 * $tens + 2 }>,
            nested::start::<{ 10 * $tens + 3 }>,
            nested::start::<{ 10 * $tens + 4 }>,
            nested::start::<{ 10 * $tens + 5 }>,
            nested::start::<{ 10 * $tens + 6 }>,
            nested::start::<{ 10 * $tens + 7 }>,
            nested::start::<{ 10 * $tens + 8 }>,
            nested::start::<{ 10 * $tens + 9 }>,
        )*]
    };
}

fn main() {
    let starts: [fn(); 400] = starts!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
        20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
    );
    ctp_benches_inspected::run(&starts);
}
