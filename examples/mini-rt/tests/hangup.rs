//! The bug on demand: the reader of a reset connection is not woken, and no other connection is
//! affected, not even one with the same descriptor number. The test is alone in its process, so
//! that the number is reused at once.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::future::{Future, poll_fn};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream as Client};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use mini_rt::{Builder, Hangup, TcpListener, TcpStream, sleep, spawn};

fn reset(client: Client) {
    rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
}

async fn accept_from(address: SocketAddr, listener: &TcpListener) -> (Client, TcpStream) {
    let client = Client::connect(address).unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// Polls a read once: this task now waits for the connection.
async fn begin_to_read(conn: &TcpStream) {
    let mut buffer = [0; 8];
    let mut read = pin!(conn.read(&mut buffer));
    poll_fn(|context| {
        assert!(read.as_mut().poll(context).is_pending());
        Poll::Ready(())
    })
    .await;
}

#[test]
fn only_the_reset_connection_is_affected() {
    let runtime = Builder::new().hangup(Hangup::CloseOnly).build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr();

        let (client, conn) = accept_from(address, &listener).await;
        let notified = Arc::new(AtomicBool::new(false));
        let notifier = Arc::clone(&notified);
        spawn(async move {
            let _ = conn.read(&mut [0; 8]).await;
            notifier.store(true, Ordering::Relaxed);
        });
        let (second_client, second) = accept_from(address, &listener).await;
        begin_to_read(&second).await;
        sleep(Duration::from_millis(50)).await;
        reset(client);
        reset(second_client);
        sleep(Duration::from_millis(100)).await;
        assert!(!notified.load(Ordering::Relaxed), "the reader was woken");
        assert!(second.read(&mut [0; 8]).await.is_err());

        let mut others = Vec::new();
        while others
            .iter()
            .all(|(_, conn): &(_, TcpStream)| conn.fd_number() != second.fd_number())
        {
            assert!(others.len() < 20, "the number is not used again");
            others.push(accept_from(address, &listener).await);
        }
        drop(second);
        for (client, conn) in &mut others {
            client.write_all(b"alive").unwrap();
            assert_eq!(conn.read(&mut [0; 8]).await.unwrap(), 5);
        }
        let (client, conn) = others.remove(0);
        drop(client);
        assert_eq!(
            conn.read(&mut [0; 8]).await.unwrap(),
            0,
            "an orderly end is no hangup"
        );
    });
}
