//! The tasks: each does its work and announces its next wait.

use core::cell::Cell;
use core::panic::Location;

use ctp_nostd::{Coroutine, Kind, Platform as _, Probe, Wait};

use crate::board::{Board, ms, ns, us};
use crate::kernel::Kernel;

/// How many there are.
pub const TASKS: usize = 5;

/// Index of the sensor.
pub const SENSOR: usize = 0;
/// Index of the display.
pub const DISPLAY: usize = 1;
/// Index of the radio.
pub const RADIO: usize = 2;
/// Index of the logger.
pub const LOGGER: usize = 3;
/// Index of the watchdog.
pub const WATCHDOG: usize = 4;

/// A sample was taken.
const IRQ_ADC: u64 = 18;
/// A packet was received.
const IRQ_RADIO: u64 = 71;

/// The packet that takes longer than the time until the next.
const LONG_PACKET: u32 = 25;

/// A task.
#[derive(Debug)]
pub struct Task {
    /// Its name.
    pub name: &'static str,
    /// Its trace.
    pub trace: Coroutine<Board>,
    /// The program's own account of a task, for comparison with the trace.
    pub count: Count,
    step: fn(&Kernel<'_>) -> Wait,
}

/// What a task did.
#[derive(Debug, Default)]
pub struct Count {
    /// Number of runs.
    pub runs: Cell<u64>,
    /// Number of suspends.
    pub suspends: Cell<u64>,
    /// Number of wakes.
    pub wakes: Cell<u64>,
    /// Number of wakes before its last run.
    pub answered: Cell<u64>,
    /// Time of its last suspend.
    pub last_ns: Cell<u64>,
}

/// All of them.
pub fn spawn(probe: Probe<Board>) -> [Task; TASKS] {
    [
        Task::new(probe, "sensor", sensor),
        Task::new(probe, "display", display),
        Task::new(probe, "radio", radio),
        Task::new(probe, "logger", logger),
        Task::new(probe, "watchdog", watchdog),
    ]
}

impl Task {
    #[track_caller]
    fn new(probe: Probe<Board>, name: &'static str, step: fn(&Kernel<'_>) -> Wait) -> Self {
        Task {
            name,
            trace: probe.born_as(name, Kind::Bare, Location::caller()),
            count: Count::default(),
            step,
        }
    }

    /// Runs the task until it waits.
    pub fn turn(&self, kernel: &Kernel<'_>) {
        self.trace.run();
        self.count.runs.update(|runs| runs + 1);
        self.count.answered.set(self.count.wakes.get());
        let wait = (self.step)(kernel);
        self.trace.suspend(wait);
        self.count.suspends.update(|suspends| suspends + 1);
        self.count.last_ns.set(Board::now_ns());
    }
}

fn sensor(kernel: &Kernel<'_>) -> Wait {
    kernel.work(us(40));
    kernel.wake(LOGGER);
    Wait::user(IRQ_ADC)
}

fn display(kernel: &Kernel<'_>) -> Wait {
    kernel.work(ms(1));
    Wait::timer(ns(kernel.due(DISPLAY)))
}

fn radio(kernel: &Kernel<'_>) -> Wait {
    if let Some(packet) = kernel.take_packet() {
        kernel.work(if packet == LONG_PACKET {
            ms(3)
        } else {
            us(300)
        });
    }
    Wait::user(IRQ_RADIO)
}

fn logger(kernel: &Kernel<'_>) -> Wait {
    kernel.work(us(200));
    Wait::coroutine(kernel.id(SENSOR))
}

fn watchdog(kernel: &Kernel<'_>) -> Wait {
    kernel.work(us(5));
    Wait::timer(ns(kernel.due(WATCHDOG)))
}
