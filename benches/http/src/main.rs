//! An echo server on hyper, with a single worker thread: plain, with the probe (`--as=traced`), or, with the feature
//! `console`, with tokio-console's subscriber.
//!
//! Prints its port. Answers each line on the standard input with its processor time so far, in nanoseconds, and ends
//! when the input ends.

use std::convert::Infallible;
use std::io::BufRead as _;
use std::net::Ipv4Addr;

use ctp_nostd::TracedExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustix::time::{ClockId, clock_gettime};
use tokio::net::{TcpListener, TcpStream};

fn main() {
    #[cfg(feature = "console")]
    console_subscriber::ConsoleLayer::builder()
        .server_addr((Ipv4Addr::LOCALHOST, 0))
        .init();
    let is_traced = std::env::args().any(|argument| argument == "--as=traced");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(1).enable_io().build();
    let runtime = runtime.expect("a runtime");
    std::thread::spawn(answer_lines);
    if is_traced {
        ctp_nostd::attach();
        runtime.block_on(accept(|stream| {
            tokio::spawn(serve(stream).traced());
        }));
    } else {
        runtime.block_on(accept(|stream| {
            tokio::spawn(serve(stream));
        }));
    }
}

/// Answers each line of the standard input with the processor time, and ends the program when the input ends.
fn answer_lines() {
    for _ in std::io::stdin().lock().lines() {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        println!("{}", time.tv_sec * 1_000_000_000 + time.tv_nsec);
    }
    std::process::exit(0);
}

/// Accepts connections, and passes each to `spawn`.
async fn accept(spawn: impl Fn(TcpStream)) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    println!("{}", address.port());
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("a connected socket");
        spawn(stream);
    }
}

/// Serves a connection. An error ends the connection.
async fn serve(stream: TcpStream) {
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(echo));
    let _ = connection.await;
}

async fn echo(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(Response::new(Full::new(bytes)))
}
