//! `ctp-report diff` should name the site that `slow_site FUNCTION PERCENT` slows down, and no other
//! site, against a recording of `slow_site` without arguments.
//!
//! Coroutines sleep at eight lines for times that differ from sleep to sleep, but not from program to
//! program. With arguments, the sleeps in one of the functions take that many percent more. Others hand
//! over to each other by yields, which depend on the machine only.
//!
//! The ground truth: a line for each function, with the line of its sleep, and `slow` or `usual`.

use std::process::ExitCode;
use std::time::Duration;

use ctp_nostd as ctp;
use mini_rt::{Builder, JoinHandle, sleep, spawn_named, yield_now};

/// Coroutines for each function.
const COROUTINES: u32 = 4;
/// Sleeps of each coroutine.
const SLEEPS: u32 = 500;
/// Every so many yields, a coroutine that yields sleeps.
const YIELDS: u32 = 8;

/// The sleeps of a coroutine.
struct Sleeps {
    left: u32,
    random: u32,
    /// By how much longer each sleep is, in percent.
    more_percent: u32,
}

impl Iterator for Sleeps {
    type Item = Duration;

    /// The next sleep: 0.5 to 3.5 ms, and sometimes longer.
    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        let usual = 500 + (self.random >> 8) % 3_000;
        let is_long = (self.random >> 24).is_multiple_of(32);
        let micros = if is_long { usual + 6_000 } else { usual };
        let more = u64::from(micros) * u64::from(self.more_percent) / 100;
        Some(Duration::from_micros(u64::from(micros) + more))
    }
}

async fn read_config(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn fetch_user(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn fetch_order(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn charge(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn reserve(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn ship(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn notify(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

async fn archive(sleeps: Sleeps) -> u32 {
    for time in sleeps {
        sleep(time).await;
    }
    line!() - 2
}

/// Lets others run, and sleeps now and then, so that the processor is not always busy.
async fn hand_over(sleeps: Sleeps) {
    for time in sleeps {
        for _ in 0..YIELDS {
            yield_now().await;
        }
        sleep(time).await;
    }
}

/// The functions that sleep. Each returns the line of its sleep.
const FUNCTIONS: [(&str, Start); 8] = [
    ("read_config", |sleeps| {
        spawn_named("read", read_config(sleeps))
    }),
    ("fetch_user", |sleeps| {
        spawn_named("fetch", fetch_user(sleeps))
    }),
    ("fetch_order", |sleeps| {
        spawn_named("fetch", fetch_order(sleeps))
    }),
    ("charge", |sleeps| spawn_named("charge", charge(sleeps))),
    ("reserve", |sleeps| spawn_named("reserve", reserve(sleeps))),
    ("ship", |sleeps| spawn_named("ship", ship(sleeps))),
    ("notify", |sleeps| spawn_named("notify", notify(sleeps))),
    ("archive", |sleeps| spawn_named("archive", archive(sleeps))),
];

type Start = fn(Sleeps) -> JoinHandle<u32>;

/// The sleeps of a coroutine of this number.
fn sleeps(number: u32, more_percent: u32) -> Sleeps {
    Sleeps {
        left: SLEEPS,
        random: number.wrapping_mul(2_654_435_761),
        more_percent,
    }
}

/// Starts all coroutines, and prints the line of each function once its coroutines have ended.
async fn run(slow: String, more_percent: u32) {
    let mut started = Vec::new();
    for (place, (function, start)) in (0..).zip(FUNCTIONS) {
        let more_percent = if function == slow { more_percent } else { 0 };
        let all = (0..COROUTINES).map(|i| start(sleeps(place * COROUTINES + i, more_percent)));
        started.push((function, all.collect::<Vec<_>>()));
    }
    for number in 100..100 + COROUTINES {
        spawn_named("hand over", hand_over(sleeps(number, 0)));
    }
    for (function, all) in started {
        let mut line = 0;
        for coroutine in all {
            line = coroutine.await.expect("no coroutine panics");
        }
        let fate = if function == slow { "slow" } else { "usual" };
        println!("{fate} {function} {line}");
    }
}

fn main() -> ExitCode {
    ctp::attach(); // before the runtime starts its threads
    let mut words = std::env::args().skip(1);
    let slow = words.next().unwrap_or_default();
    let more_percent = words.next().map_or(Ok(0), |word| word.parse());
    let (Ok(runtime), Ok(more_percent)) = (Builder::new().workers(2).build(), more_percent) else {
        eprintln!("slow_site: usage: slow_site [FUNCTION PERCENT]");
        return ExitCode::FAILURE;
    };
    runtime.block_on(run(slow, more_percent));
    ExitCode::SUCCESS
}
