//! Sockets: bytes arrive whole under load, ends and errors are seen.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use mini_rt::{Runtime, TcpListener, TcpStream, connect, sleep, spawn};

async fn echo(conn: TcpStream) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let n = conn.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        conn.write_all(&buffer[..n]).await?;
    }
}

/// Echoes for ever; gives its address.
fn echo_server(runtime: &Runtime) -> SocketAddr {
    let listener = runtime
        .block_on(async { TcpListener::bind("127.0.0.1:0") })
        .unwrap();
    let address = listener.local_addr();
    runtime.spawn(async move {
        loop {
            let (conn, _) = listener.accept().await.unwrap();
            spawn(echo(conn));
        }
    });
    address
}

#[test]
fn many_connections_echo() {
    let runtime = Runtime::new(2).unwrap();
    let address = echo_server(&runtime);
    let clients: Vec<_> = (0..8u8)
        .map(|id| {
            thread::spawn(move || {
                for _ in 0..20 {
                    let mut conn = std::net::TcpStream::connect(address).unwrap();
                    for round in 0..50u8 {
                        let sent = [id, round, 3];
                        let mut back = [0; 3];
                        conn.write_all(&sent).unwrap();
                        conn.read_exact(&mut back).unwrap();
                        assert_eq!(sent, back);
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
}

#[test]
fn more_bytes_than_the_socket_holds() {
    const BYTES: usize = 16 << 20;
    let runtime = Runtime::new(2).unwrap();
    let address = echo_server(&runtime);
    runtime.block_on(async {
        let conn = std::sync::Arc::new(connect(address).await.unwrap());
        let writer = std::sync::Arc::clone(&conn);
        let writing = spawn(async move {
            let block: Vec<u8> = (0..BYTES).map(|n| (n % 251) as u8).collect();
            writer.write_all(&block).await
        });
        let mut buffer = vec![0; 65536];
        let mut received = 0;
        while received < BYTES {
            let n = conn.read(&mut buffer).await.unwrap();
            assert_ne!(n, 0);
            let right = (received..).zip(&buffer[..n]);
            assert!(
                right
                    .into_iter()
                    .all(|(at, &byte)| byte == (at % 251) as u8)
            );
            received += n;
        }
        writing.await.unwrap().unwrap();
    });
}

#[test]
fn a_reset_is_an_error_for_the_reader() {
    let runtime = Runtime::new(2).unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr()).unwrap();
        let (conn, peer) = listener.accept().await.unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
        let reader = spawn(async move { conn.read(&mut [0; 8]).await });
        sleep(Duration::from_millis(20)).await;
        rustix::net::sockopt::set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
        drop(client);
        let error = reader.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    });
}

#[test]
fn connecting_without_a_listener_fails() {
    let runtime = Runtime::new(2).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let error = runtime.block_on(async { connect(address).await.unwrap_err() });
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
}

#[test]
fn two_tasks_may_wait_for_the_same_socket() {
    let runtime = Runtime::new(2).unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr();
        let listener = std::sync::Arc::new(listener);
        let accepting = [0, 1].map(|_| {
            let listener = std::sync::Arc::clone(&listener);
            spawn(async move { listener.accept().await.map(|_| ()) })
        });
        sleep(Duration::from_millis(20)).await;
        let clients = [0, 1].map(|_| std::net::TcpStream::connect(address).unwrap());
        for task in accepting {
            task.await.unwrap().unwrap();
        }
        drop(clients);
    });
}
