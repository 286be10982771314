//! Streams around sockets that wait for something other than the operation says.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Sleep, sleep};

use crate::{LONG, spawn};

/// Reads after a while.
struct Throttled {
    stream: TcpStream,
    delay: Pin<Box<Sleep>>,
}

impl AsyncRead for Throttled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        ready!(self.delay.as_mut().poll(context));
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

/// Writes before it reads, as a TLS connection that changes its keys.
struct Rekeying(TcpStream);

impl AsyncRead for Rekeying {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        loop {
            ready!(Pin::new(&mut self.0).poll_write(context, &[0; 65_536]))?;
        }
    }
}

pub async fn spawn_all() -> Vec<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut peers = Vec::new();
    for name in ["throttled", "rekeying"] {
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (peer, _) = listener.accept().await.expect("a connection");
        peers.push(peer);
        if name == "throttled" {
            spawn(name, read(Throttled { stream, delay: Box::pin(sleep(LONG)) }));
        } else {
            spawn(name, read(Rekeying(stream)));
        }
    }
    peers
}

async fn read(mut stream: impl AsyncRead + Unpin) {
    let _ = stream.read(&mut [0; 16]).await;
}
