//! A healthy service under load: everything moves, and nothing is wrong.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, Notify, RwLock, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::registry::spawn;

const DEADLINE: Duration = Duration::from_secs(60);
const BRIEF: Duration = Duration::from_millis(2);

/// What the tasks share.
struct Service {
    /// Two accounts are always locked in this order.
    accounts: [Mutex<u64>; 2],
    settings: RwLock<u64>,
    permits: Semaphore,
    changed: Notify,
}

/// A question to the task that owns the numbers.
type Question = (u64, oneshot::Sender<u64>);

/// `count` clients, and what serves them.
pub fn start(count: usize) {
    let service = Arc::new(Service {
        accounts: [Mutex::new(0), Mutex::new(0)],
        settings: RwLock::new(0),
        permits: Semaphore::new(3),
        changed: Notify::new(),
    });
    let (sender, questions) = mpsc::channel(4);
    spawn("owner", own_numbers(questions));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    listener.set_nonblocking(true).expect("a socket");
    let listener = TcpListener::from_std(listener).expect("a listener");
    spawn("server", serve(listener, service.clone(), sender));
    spawn("settings", change_settings(service.clone()));
    spawn("watcher", watch(service));
    for _ in 0..count {
        spawn("client", ask_for_ever(address));
    }
}

/// Answers questions, one after another.
async fn own_numbers(mut questions: mpsc::Receiver<Question>) {
    let mut sum = 0_u64;
    while let Some((number, answer)) = questions.recv().await {
        sum = sum.wrapping_add(number);
        let _ = answer.send(sum);
    }
}

async fn serve(listener: TcpListener, service: Arc<Service>, questions: mpsc::Sender<Question>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(stream, service.clone(), questions.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(
    mut stream: TcpStream,
    service: Arc<Service>,
    questions: mpsc::Sender<Question>,
) {
    let mut request = [0; 8];
    while stream.read_exact(&mut request).await.is_ok() {
        let number = u64::from_le_bytes(request);
        let answer = timeout(DEADLINE, handle(&service, &questions, number)).await;
        let answer = answer.unwrap_or_default().to_le_bytes();
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn handle(service: &Arc<Service>, questions: &mpsc::Sender<Question>, number: u64) -> u64 {
    let _permit = service.permits.acquire().await;
    match number % 4 {
        0 => transfer(service).await,
        1 => both(service, questions).await,
        2 => compute(number).await,
        _ => {
            let ours = service.clone();
            let read = spawn("reader", async move { *ours.settings.read().await });
            read.await.unwrap_or_default()
        }
    }
}

/// Holds one lock while it waits for another, and for time.
async fn transfer(service: &Service) -> u64 {
    let mut from = service.accounts[0].lock().await;
    tokio::time::sleep(BRIEF).await;
    let mut to = service.accounts[1].lock().await;
    *from += 1;
    *to += *from;
    *to
}

async fn both(service: &Service, questions: &mpsc::Sender<Question>) -> u64 {
    let (sum, answer) = tokio::join!(
        async { *service.accounts[1].lock().await },
        ask(questions, 7)
    );
    sum + answer
}

async fn ask(questions: &mpsc::Sender<Question>, number: u64) -> u64 {
    let (answer, answered) = oneshot::channel();
    let _ = questions.send((number, answer)).await;
    answered.await.unwrap_or_default()
}

async fn compute(number: u64) -> u64 {
    let computed = tokio::task::spawn_blocking(move || {
        std::thread::sleep(BRIEF);
        number * 2
    });
    computed.await.unwrap_or_default()
}

async fn change_settings(service: Arc<Service>) {
    let mut interval = tokio::time::interval(BRIEF);
    loop {
        interval.tick().await;
        *service.settings.write().await += 1;
        service.changed.notify_waiters();
    }
}

async fn watch(service: Arc<Service>) {
    loop {
        tokio::select! {
            () = service.changed.notified() => {}
            () = tokio::time::sleep(DEADLINE) => {}
        }
    }
}

/// Connects, asks some times, and begins again.
async fn ask_for_ever(address: std::net::SocketAddr) {
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else {
            tokio::time::sleep(BRIEF).await;
            continue;
        };
        let mut answer = [0; 8];
        for number in 0..100_u64 {
            let sent = stream.write_all(&number.to_le_bytes()).await;
            if sent.is_err() || stream.read_exact(&mut answer).await.is_err() {
                break;
            }
        }
    }
}
