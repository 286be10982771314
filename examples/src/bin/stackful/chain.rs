//! Functions that call each other in an order that the number of a wait gives.

use std::cell::Cell;
use std::hint::black_box;
use std::io::{self, Write};

use ctp_nostd::{Task, Wait};

/// A coroutine, while it runs.
pub struct Session<'s> {
    /// Its trace.
    pub task: &'s Task,
    /// Its number.
    pub number: u32,
    /// Lets the scheduler run until the coroutine is resumed.
    pub switch: &'s dyn Fn(),
    /// The number of the next wait.
    next: Cell<u64>,
}

/// The functions of a wait, from the outermost on: a function for each digit of the coroutine's number, then one that
/// says whether the wait is the coroutine's first, third and so on.
const DIGITS: u32 = 4;

type Step = fn(&Session<'_>, u32, u32);

const STEPS: [Step; 10] = [
    digit_0, digit_1, digit_2, digit_3, digit_4, digit_5, digit_6, digit_7, digit_8, digit_9,
];
const NAMES: [&str; 10] = [
    "digit_0", "digit_1", "digit_2", "digit_3", "digit_4", "digit_5", "digit_6", "digit_7",
    "digit_8", "digit_9",
];

/// Runs a coroutine, which waits again and again.
#[inline(never)]
pub fn session(task: &Task, number: u32, switch: &dyn Fn()) {
    let session = Session {
        task,
        number,
        switch,
        next: Cell::new(0),
    };
    loop {
        descend(&session, number, DIGITS);
        black_box(&session);
    }
}

/// Calls the function of the lowest digit, if any is left.
#[inline(always)]
fn descend(session: &Session<'_>, digits: u32, left: u32) {
    match left {
        0 if session.next.get().is_multiple_of(2) => even(session),
        0 => odd(session),
        _ => STEPS[(digits % 10) as usize](session, digits / 10, left - 1),
    }
}

/// Defines the function of a digit, with a frame of its own size.
macro_rules! steps {
    ($($name:ident $words:literal)+) => {$(
        #[inline(never)]
        fn $name(session: &Session<'_>, digits: u32, left: u32) {
            let local = black_box([left; $words]);
            descend(session, digits, left);
            black_box(local);
        }
    )+};
}

steps! {
    digit_0 1 digit_1 7 digit_2 12 digit_3 3 digit_4 25
    digit_5 2 digit_6 18 digit_7 5 digit_8 33 digit_9 9
}

#[inline(never)]
fn even(session: &Session<'_>) {
    wait_here(session);
    black_box(session);
}

#[inline(never)]
fn odd(session: &Session<'_>) {
    let local = black_box([session.number; 4]);
    wait_here(session);
    black_box(local);
}

#[inline(never)]
fn wait_here(session: &Session<'_>) {
    let turn = session.next.get();
    session.next.set(turn + 1);
    let wait = Wait::user(u64::from(session.number) * 2 + turn % 2);
    session.task.suspend_with_stack(wait);
    (session.switch)();
    black_box(session);
}

/// Prints where each function is, then for each wait its number and its functions, innermost first.
pub fn describe(count: u32, out: &mut dyn Write) -> io::Result<()> {
    for (name, step) in NAMES.iter().zip(STEPS) {
        writeln!(out, "function {name} {}", step as usize)?;
    }
    let others: [(&str, usize); 4] = [
        ("even", even as fn(&Session<'_>) as usize),
        ("odd", odd as fn(&Session<'_>) as usize),
        ("wait_here", wait_here as fn(&Session<'_>) as usize),
        ("session", session as fn(&Task, u32, &dyn Fn()) as usize),
    ];
    for (name, address) in others {
        writeln!(out, "function {name} {address}")?;
    }
    for number in 0..count {
        for (turn, name) in ["even", "odd"].iter().enumerate() {
            write!(out, "wait {} wait_here {name}", number as usize * 2 + turn)?;
            for digit in (0..DIGITS).rev() {
                let digit = number / 10_u32.pow(digit) % 10;
                write!(out, " {}", NAMES[digit as usize])?;
            }
            writeln!(out, " session")?;
        }
    }
    Ok(())
}
