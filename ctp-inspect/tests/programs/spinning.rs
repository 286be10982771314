//! Runs threads that never wait. Each first prints its id and the return addresses on its stack from the caller
//! of `spin` outwards, as the unwinder for exceptions finds them. At the end of its input, the program prints how
//! many real-time signals it has handled.

use std::ffi::{c_int, c_void as Opaque};
use std::hint::black_box;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: extern "C" fn(*mut Opaque, *mut Opaque) -> c_int, to: *mut Opaque) -> c_int;
    fn _Unwind_GetIP(context: *mut Opaque) -> usize;
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static TURNS: AtomicU64 = AtomicU64::new(0);

extern "C" fn handle(_: c_int) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
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

/// Prints the truth, and computes for ever.
#[inline(never)]
fn spin() -> u8 {
    let tid = std::fs::read_link("/proc/thread-self").expect("proc is mounted");
    let tid = tid.file_name().expect("a number").to_string_lossy().into_owned();
    let addresses: Vec<_> = return_addresses().iter().map(|a| format!("{a:x}")).collect();
    println!("thread {tid} spin {}", addresses.join(" "));
    loop {
        if TURNS.fetch_add(1, Ordering::Relaxed) == u64::MAX {
            return black_box(1);
        }
    }
}

/// Callers, each with a frame of its own.
#[inline(never)]
fn nested(depth: u8) -> u8 {
    let room = black_box([depth; 100]);
    let result = if depth == 0 { spin() } else { nested(depth - 1) };
    black_box(room)[usize::from(depth)].wrapping_add(result)
}

fn main() {
    // SAFETY: the handler adds to an atomic number.
    unsafe { signal(40, handle) };
    for _ in 0..2 {
        std::thread::spawn(|| nested(3));
    }
    let mut byte = [0];
    while !matches!(std::io::stdin().read(&mut byte), Ok(0)) {}
    println!("handled {} {}", HANDLED.load(Ordering::Relaxed), TURNS.load(Ordering::Relaxed));
}
