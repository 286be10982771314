//! Who waits for whom, and what is said of those that never go on. Times are in milliseconds.

mod cases;
mod in_turn;
mod joined;
mod programs;
mod recording;
mod unclaimed;
