//! Coroutines that block each other, and their verdicts. Times are in milliseconds.

mod cases;
mod in_turn;
mod joined;
mod programs;
mod readers;
mod recording;
mod unclaimed;
