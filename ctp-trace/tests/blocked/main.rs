//! Coroutines that block each other, and their verdicts. Times are in milliseconds.

mod cases;
mod in_turn;
mod joined;
mod programs;
mod recording;
mod unclaimed;
