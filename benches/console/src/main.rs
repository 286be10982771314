//! The storm of `benches/storm.rs` on a tokio that tells a subscriber of each spawn, poll and wake:
//! with nobody who listens, or with tokio-console's. Nobody is connected to that one, but its
//! aggregator runs, as it does in a program that somebody may want to look at.

#[path = "../../src/storm.rs"]
mod storm;

use std::net::Ipv4Addr;

use console_subscriber::ConsoleLayer;

fn main() {
    if std::env::args().any(|argument| argument == "--as=subscribed") {
        // Any port: another program may have the usual one.
        let address = (Ipv4Addr::LOCALHOST, 0);
        ConsoleLayer::builder().server_addr(address).init();
    }
    storm::run(|task| tokio::spawn(task));
}
