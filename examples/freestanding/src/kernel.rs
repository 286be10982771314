//! The scheduler: runs what is ready, sleeps until an interrupt makes something ready.

use core::cell::Cell;

use crate::board::{self, ms};
use crate::tasks::{DISPLAY, RADIO, SENSOR, TASKS, Task, WATCHDOG};

/// Makes tasks ready, and lets time pass.
#[derive(Debug)]
pub struct Kernel<'t> {
    ready: [Cell<bool>; TASKS],
    tasks: &'t [Task; TASKS],
    lines: [Line; 4],
    packet_held: Cell<bool>,
    packets: Cell<u32>,
}

/// A source of interrupts.
#[derive(Debug)]
struct Line {
    task: usize,
    period: u64,
    next: Cell<u64>,
}

impl<'t> Kernel<'t> {
    /// All tasks are ready, and all sources of interrupts start now.
    pub fn new(tasks: &'t [Task; TASKS]) -> Self {
        let line = |(task, period)| Line {
            task,
            period,
            next: Cell::new(board::now() + period),
        };
        let periods = [
            (SENSOR, ms(10)),
            (DISPLAY, ms(16)),
            (RADIO, ms(2)),
            (WATCHDOG, ms(100)),
        ];
        Kernel {
            ready: [const { Cell::new(true) }; TASKS],
            tasks,
            lines: periods.map(line),
            packet_held: Cell::new(false),
            packets: Cell::new(0),
        }
    }

    /// Runs tasks until this tick.
    pub fn run(&self, end: u64) {
        while board::now() < end {
            match self.ready.iter().position(Cell::get) {
                Some(task) => {
                    self.tasks[task].turn(self);
                    // The fault: a wake during the turn is discarded with the wake that led to the
                    // turn.
                    self.ready[task].set(false);
                }
                None => self.pass_until(self.next_interrupt()),
            }
        }
    }

    /// Makes a task ready.
    pub fn wake(&self, task: usize) {
        // Reported first: a ready task can run at once.
        self.tasks[task].trace.waker().wake();
        self.tasks[task].count.wakes.update(|wakes| wakes + 1);
        self.ready[task].set(true);
    }

    /// A task is busy for that many ticks, while interrupts come.
    pub fn work(&self, ticks: u64) {
        self.pass_until(board::now() + ticks);
    }

    /// The id of a task in the trace.
    pub fn id(&self, task: usize) -> u64 {
        self.tasks[task].trace.id()
    }

    /// When the next interrupt for this task is due, in ticks.
    pub fn due(&self, task: usize) -> u64 {
        let line = self.lines.iter().find(|line| line.task == task);
        line.map_or(0, |line| line.next.get())
    }

    /// Takes the packet out of the receiver, which can then receive another. Returns how many
    /// there were so far.
    pub fn take_packet(&self) -> Option<u32> {
        self.packet_held.replace(false).then(|| self.packets.get())
    }

    fn pass_until(&self, tick: u64) {
        while self.next_interrupt() <= tick {
            board::set(self.next_interrupt());
            self.interrupts();
        }
        board::set(tick);
    }

    fn next_interrupt(&self) -> u64 {
        let dues = self.lines.iter().map(|line| line.next.get());
        dues.min().unwrap_or(u64::MAX)
    }

    /// The handlers of all interrupts that are due.
    fn interrupts(&self) {
        for line in &self.lines {
            if board::now() < line.next.get() {
                continue;
            }
            line.next.update(|next| next + line.period);
            if line.task != RADIO || self.receive() {
                self.wake(line.task);
            }
        }
    }

    /// A packet is in the air. The receiver interrupts when it has received the packet, and then
    /// ignores all others until that packet is taken.
    fn receive(&self) -> bool {
        let heard = !self.packet_held.replace(true);
        self.packets.update(|packets| packets + u32::from(heard));
        heard
    }
}
