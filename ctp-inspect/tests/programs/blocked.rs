//! Blocks threads in several ways. Each first prints its id, its way, and the return addresses on its
//! stack from the caller of `block` outwards, as the unwinder for exceptions finds them.

use std::ffi::{c_int, c_void as Opaque};
use std::hint::black_box;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: extern "C" fn(*mut Opaque, *mut Opaque) -> c_int, to: *mut Opaque) -> c_int;
    fn _Unwind_GetIP(context: *mut Opaque) -> usize;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut Opaque, most: c_int, timeout: c_int) -> c_int;
    fn pipe(ends: *mut c_int) -> c_int;
    fn read(from: c_int, to: *mut Opaque, bytes: usize) -> isize;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn raise(number: c_int) -> c_int;
}

extern "C" fn push(context: *mut Opaque, to: *mut Opaque) -> c_int {
    // SAFETY: `to` is the vector that `return_addresses` passes.
    let addresses = unsafe { &mut *(to as *mut Vec<usize>) };
    // SAFETY: the unwinder passes its context.
    addresses.push(unsafe { _Unwind_GetIP(context) });
    0
}

/// The return addresses from the caller's caller outwards.
#[inline(never)]
fn return_addresses() -> Vec<usize> {
    let mut addresses: Vec<usize> = Vec::new();
    // SAFETY: `push` gets the vector.
    unsafe { _Unwind_Backtrace(push, &raw mut addresses as *mut Opaque) };
    addresses.retain(|address| *address != 0);
    addresses.split_off(2)
}

extern "C" fn sleep_in_handler(_: c_int) {
    std::thread::sleep(LONG);
}

fn read_from_pipe() {
    let mut ends = [0; 2];
    let mut bytes = [0_u8; 64];
    // SAFETY: both buffers are as large as said.
    unsafe {
        pipe(ends.as_mut_ptr());
        read(ends[0], &raw mut bytes as *mut Opaque, bytes.len());
    }
    black_box(bytes);
}

fn wait_for_events() {
    let mut events = [0_u64; 64];
    // SAFETY: the buffer holds 16 events.
    unsafe { epoll_wait(epoll_create1(0), &raw mut events as *mut Opaque, 16, -1) };
    black_box(events);
}

fn sleep_in_signal() {
    // SAFETY: the handler only sleeps.
    unsafe {
        signal(10, sleep_in_handler);
        raise(10);
    }
}

/// Prints the truth, and blocks.
#[inline(never)]
fn block(way: &str, lock: &Mutex<u8>) -> u8 {
    let tid = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
    let tid = tid.file_name().expect("a number").to_string_lossy().into_owned();
    let addresses: Vec<_> = return_addresses().iter().map(|a| format!("{a:x}")).collect();
    println!("thread {tid} {way} {}", addresses.join(" "));
    match way {
        "sleep" => std::thread::sleep(LONG),
        "park" => std::thread::park_timeout(LONG),
        "mutex" => return *lock.lock().expect("never poisoned"),
        "condvar" => {
            let own = Mutex::new(0_u8);
            let guard = own.lock().expect("never poisoned");
            let waited = Condvar::new().wait_timeout(guard, LONG);
            return *waited.expect("never poisoned").0;
        }
        "channel" => {
            let (_sender, receiver) = mpsc::channel::<u8>();
            return receiver.recv_timeout(LONG).unwrap_or(1);
        }
        "read" => read_from_pipe(),
        "epoll" => wait_for_events(),
        _ => sleep_in_signal(),
    }
    black_box(2)
}

/// Callers, each with a frame of its own.
#[inline(never)]
fn nested(depth: u8, way: &str, lock: &Mutex<u8>) -> u8 {
    let room = black_box([depth; 100]);
    let result = if depth == 0 {
        block(way, lock)
    } else {
        nested(depth - 1, way, lock)
    };
    black_box(room)[usize::from(depth)].wrapping_add(result)
}

fn main() {
    let lock = Arc::new(Mutex::new(0_u8));
    let _guard = lock.lock().expect("never poisoned");
    let ways = ["sleep", "park", "mutex", "condvar", "channel", "read", "epoll", "signal"];
    for way in ways {
        let lock = Arc::clone(&lock);
        std::thread::spawn(move || nested(3, way, &lock));
    }
    nested(3, "sleep", &lock);
}
