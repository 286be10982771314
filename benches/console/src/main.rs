//! The storm of `benches/storm.rs` on a tokio that reports each spawn, poll and wake to a subscriber:
//! without a subscriber, or with tokio-console's. No console is connected, but the subscriber's
//! aggregator runs, as in a program that is ready for a console.

#[path = "../../src/storm.rs"]
mod storm;

use std::net::Ipv4Addr;

use console_subscriber::ConsoleLayer;

fn main() {
    if std::env::args().any(|argument| argument == "--as=subscribed") {
        // Any port: another program may use the default port.
        let address = (Ipv4Addr::LOCALHOST, 0);
        ConsoleLayer::builder().server_addr(address).init();
    }
    storm::run(|task| tokio::spawn(task));
}
