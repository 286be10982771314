//! The scenes of `program.rs`.
#![expect(unsafe_code, reason = "switches stacks, and maps and unmaps memory")]

use std::arch::asm;
use std::ffi::c_void;
use std::fs;
use std::future::Future;
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

use ctp_nostd::{self as ctp, TracedExt as _};

/// Bytes of each part of a mapping: a coroutine's stack, unrelated memory, a thread's stack.
const PART_BYTES: usize = 256 << 10;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;
/// `MADV_GUARD_INSTALL`, since Linux 6.13.
const GUARD_INSTALL: i32 = 102;

pub fn play() {
    let scene = std::env::args().nth(1).expect("a scene");
    // The kernel puts it directly below the latest mapping, which is libc's for this thread.
    let early = map(2 * PART_BYTES, READ_WRITE);
    match scene.as_str() {
        "elsewhere" => assert!(thread::spawn(ctp::attach).join().expect("no panic")),
        _ => assert!(ctp::attach()),
    }
    match scene.as_str() {
        "vector" => below_a_vector(drop),
        "kept-vector" => below_a_vector(std::mem::forget),
        "merged" => below_own_local(early),
        "unguarded" => on_a_stack_from(map(3 * PART_BYTES, READ_WRITE), below_own_memory),
        "guarded-below" => on_a_stack_from(guarded_by_a_page(), below_own_memory),
        "main" | "elsewhere" => wake_with_callers(&waker()),
        "thread" => run_in(thread::Builder::new()),
        "small" => run_in(thread::Builder::new().stack_size(64 << 10)),
        "region" => in_a_guard_region(),
        other => panic!("{other} is no scene"),
    }
}

/// A traced future that keeps its waker, and waits for ever.
struct Leaf(Arc<Mutex<Option<Waker>>>);

impl Future for Leaf {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        *self.0.lock().expect("whole") = Some(context.waker().clone());
        Poll::Pending
    }
}

fn waker() -> Waker {
    let kept = Arc::new(Mutex::new(None));
    let future = Box::leak(Box::new(Leaf(kept.clone()).traced()));
    let polled = Pin::static_mut(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
    kept.lock().expect("whole").take().expect("it was polled")
}

fn below_a_vector(then: fn(Vec<u8>)) {
    let vector = vec![1u8; 4 << 20];
    let inside = (vector.as_ptr().addr() + (2 << 20)) & !15;
    let stack = map(PART_BYTES, READ_WRITE);
    assert!(stack < inside && inside < local(), "another order");
    let waker = waker();
    let wake = || wake_on(stack + PART_BYTES, inside, &waker);
    grown(|| (0..3).for_each(|_| wake()));
    then(vector);
    (0..3).for_each(|_| wake());
}

/// Two parts, in one mapping with the thread-local storage of the main thread.
fn below_own_local(base: usize) {
    let between = local().checked_sub(base + 2 * PART_BYTES);
    assert!(between.is_some_and(|bytes| bytes < 4096), "another order");
    below_own_memory(base);
}

/// On a thread with its anchor above a mapping: the first part is a coroutine's stack, and the
/// second part unrelated memory.
fn below_own_memory(base: usize) {
    let inside = base + PART_BYTES + PART_BYTES / 2;
    let waker = waker();
    let wake = || wake_on(base + PART_BYTES, inside, &waker);
    (0..3).for_each(|_| wake());
    // SAFETY: nothing else uses that part.
    let unmapped = unsafe { libc::munmap(pointer(base + PART_BYTES), PART_BYTES) };
    assert_eq!(unmapped, 0);
    (0..3).for_each(|_| wake());
}

/// The thread pointer, beside the thread-local storage.
fn local() -> usize {
    let local;
    // SAFETY: reads a word that each thread has.
    unsafe { asm!("mov {}, fs:[0]", out(reg) local) };
    local
}

/// Three parts, above a page without access.
fn guarded_by_a_page() -> usize {
    let page = map(4096 + 3 * PART_BYTES, libc::PROT_NONE);
    let rest = pointer(page + 4096);
    // SAFETY: nothing uses the new mapping.
    let changed = unsafe { libc::mprotect(rest, 3 * PART_BYTES, READ_WRITE) };
    assert_eq!(changed, 0);
    page + 4096
}

/// A stack of two parts above a guard region of one part.
fn in_a_guard_region() {
    let base = map(3 * PART_BYTES, READ_WRITE);
    // SAFETY: nothing uses the new mapping.
    let installed = unsafe { libc::madvise(pointer(base), PART_BYTES, GUARD_INSTALL) };
    if installed != 0 {
        return println!("no guard regions");
    }
    on_a_stack_from(base, |_| wake_with_callers(&waker()));
}

fn run_in(builder: thread::Builder) {
    let thread = builder.spawn(|| wake_with_callers(&waker()));
    thread.expect("it starts").join().expect("no panic");
}

/// Runs the closure in a thread whose stack is the third part of a mapping, with the mapping's
/// address.
fn on_a_stack_from(base: usize, scene: fn(usize)) {
    struct Start(fn(usize), usize);
    extern "C" fn start(argument: *mut c_void) -> *mut c_void {
        // SAFETY: the closure passed below, which outlives the thread.
        let Start(scene, base) = unsafe { &*argument.cast::<Start>() };
        scene(*base);
        ptr::null_mut()
    }
    let start_of = Start(scene, base);
    // SAFETY: libc's own sequence; the memory is mapped, and is used as this stack alone.
    unsafe {
        let mut attributes = std::mem::zeroed();
        let mut id = std::mem::zeroed();
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        let stack = pointer(base + 2 * PART_BYTES);
        assert_eq!(
            libc::pthread_attr_setstack(&mut attributes, stack, PART_BYTES),
            0
        );
        let argument = (&raw const start_of).cast_mut().cast();
        assert_eq!(
            libc::pthread_create(&mut id, &attributes, start, argument),
            0
        );
        assert_eq!(libc::pthread_join(id, ptr::null_mut()), 0);
    }
}

fn map(bytes: usize, access: i32) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at a place of the kernel's choice.
    let place = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place.addr()
}

fn pointer(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

extern "C" fn wake(waker: *const Waker) {
    // SAFETY: borrowed by the caller.
    unsafe { (*waker).wake_by_ref() }
}

/// Wakes on the stack that ends there, with this in the register for frame pointers.
fn wake_on(stack_end: usize, register: usize, waker: &Waker) {
    // SAFETY: switches to unused memory and back. `wake` saves the required registers.
    unsafe {
        asm!(
            "push rbp", "push rbx", "mov rbx, rsp", "mov rsp, r12", "mov rbp, r13",
            "call r14",
            "mov rsp, rbx", "pop rbx", "pop rbp",
            in("r12") stack_end - 64, in("r13") register, in("r14") wake as extern "C" fn(*const Waker),
            in("rdi") ptr::from_ref(waker), clobber_abi("C"),
        );
    }
}

/// Wakes several times below these frame records, and prints the first return address.
fn wake_with_callers(waker: &Waker) {
    const RECORDS: usize = 12;
    let first = wake as extern "C" fn(*const Waker) as usize;
    let mut records = [[0usize; 2]; RECORDS];
    let place = records.as_ptr().addr();
    for (index, record) in records.iter_mut().enumerate() {
        *record = [place + 16 * (index + 1), first + index];
    }
    println!("{first}");
    for _ in 0..5 {
        // SAFETY: `wake` saves the required registers; the records outlive the call.
        unsafe {
            asm!(
                "push rbp", "push rbx", "mov rbx, rsp", "and rsp, -16", "mov rbp, r13",
                "call r14",
                "mov rsp, rbx", "pop rbx", "pop rbp",
                in("r13") place, in("r14") wake as extern "C" fn(*const Waker),
                in("rdi") ptr::from_ref(waker), clobber_abi("C"),
            );
        }
    }
    assert_eq!(std::hint::black_box(&records)[0][1], first);
}

/// Prints by how many KiB the resident part of the shared memory grew.
fn grown(meanwhile: impl FnOnce()) {
    let before = resident_kib();
    meanwhile();
    println!("grown {} KiB", resident_kib() - before);
}

/// Of the mappings of the file that `CTP_SHM_PATH` names.
fn resident_kib() -> u64 {
    let smaps = fs::read_to_string("/proc/self/smaps").expect("it can be read");
    let (mut is_shared, mut sum) = (false, 0);
    for line in smaps.lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if !first.ends_with(':') {
            is_shared = line.contains(" rw-s ") && line.contains("memfd:");
        } else if first == "Rss:" && is_shared {
            let kib = line.split_whitespace().nth(1).expect("a number");
            sum += kib.parse::<u64>().expect("a number");
        }
    }
    assert!(0 < sum, "the shared memory is mapped");
    sum
}
