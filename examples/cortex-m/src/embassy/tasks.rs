//! The tasks.

use embassy_executor::{SendSpawner, Spawner, task};

use crate::CTP;
use crate::account;
use crate::board;
use crate::driver::{FRAMES, TICKS};

/// After this many frames, the radio checks its receiver, which takes longer than the time until the
/// next frame.
const CHECKED_AFTER: u32 = 12;

/// Names the tasks and spawns them.
pub fn spawn_all(spawner: Spawner, interrupts: SendSpawner) {
    let (Ok(blink), Ok(radio), Ok(sessions)) = (blink(), radio(), sessions(spawner)) else {
        return;
    };
    CTP.name(blink.id(), "blink");
    spawner.spawn(blink);
    CTP.name(radio.id(), "radio");
    spawner.spawn(radio);
    CTP.name(sessions.id(), "sessions");
    spawner.spawn(sessions);
    if let Ok(control) = control() {
        CTP.name(control.id(), "control");
        interrupts.spawn(control);
    }
}

/// Blinks every 16 ms.
#[task]
async fn blink() {
    account::BLINK.of(ticks(0, 16)).await;
}

/// Takes frames.
#[task]
async fn radio() {
    account::RADIO
        .of(async {
            for frames in 0.. {
                let check_ms = if frames < CHECKED_AFTER { 0 } else { 7 };
                FRAMES.received(check_ms).await; // the wakeup is lost here
            }
        })
        .await;
}

/// Controls a motor, on the executor in an interrupt handler.
#[task]
async fn control() {
    account::CONTROL.of(ticks(1, 2)).await;
}

/// Spawns a session every 50 ms.
#[task]
async fn sessions(spawner: Spawner) {
    account::SESSIONS
        .of(async {
            loop {
                wait(2, 50).await;
                if let Ok(session) = session() {
                    CTP.name(session.id(), "session");
                    spawner.spawn(session);
                }
            }
        })
        .await;
}

/// Ends after some milliseconds.
#[task]
async fn session() {
    account::SESSION.of(wait(3, 5)).await;
}

/// Works once in so many milliseconds, for ever.
async fn ticks(index: usize, every_ms: u32) {
    loop {
        wait(index, every_ms).await;
    }
}

async fn wait(index: usize, ms: u32) {
    let next = board::now_ms() + ms;
    while board::now_ms() < next {
        CTP.traced(TICKS[index].next()).await;
    }
}
