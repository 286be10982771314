//! Prints the sites that a runtime would record, each with the enclosing function, and the mappings of
//! this process.

use std::panic::Location;
use std::pin::pin;
use std::task::{Context, Waker};

#[track_caller]
fn site(function: &'static str) -> std::future::Ready<()> {
    let at = Location::caller();
    println!("site {} {} {} {function}", at.line(), at.column(), at.file());
    std::future::ready(())
}

struct Stream;

impl Stream {
    #[track_caller]
    fn next(&self, function: &'static str) -> std::future::Ready<()> {
        site(function)
    }
}

async fn read_frame() {
    site("sites::read_frame").await;
    Stream.next("sites::read_frame").await;
}

async fn generic<T: Default>() -> T {
    site("sites::generic").await;
    T::default()
}

mod session {
    pub struct Session;

    impl Session {
        pub async fn serve(&self) {
            super::site("sites::session::Session::serve").await;
            super::read_frame().await;
        }
    }
}

#[inline(never)]
fn plain() {
    let _ = site("sites::plain");
}

#[inline(always)]
fn inlined() {
    let _ = site("sites::inlined");
}

fn main() {
    plain();
    inlined();
    [1].iter().for_each(|_| drop(site("closure in sites::main")));
    let root = async {
        site("async block in sites::main").await;
        session::Session.serve().await;
        generic::<u32>().await;
        generic::<String>().await;
        let boxed: std::pin::Pin<Box<dyn Future<Output = ()>>> = Box::pin(read_frame());
        boxed.await;
    };
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(root).poll(&mut context).is_ready());
    print!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
}
