//! Runs the program on traces that the tests write as a recorder would.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod test_dir;
mod traces;

mod exports;
mod flame;
mod golden;
mod html;
mod interchange;
mod last_words;
mod manners;
mod names;
mod tables;
mod terminal;
mod timeline;
