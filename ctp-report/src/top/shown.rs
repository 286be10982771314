//! The terminal of the live table.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, Result, bail};
use ratatui::DefaultTerminal;
use rustix::process::{Signal, getpid, kill_process};

use super::input::KeyInput;
use crate::config::Config;
use crate::load::memory;

/// The terminal, which is restored when this is dropped.
pub struct ShownTable {
    /// The screen.
    pub terminal: DefaultTerminal,
    /// The keys.
    pub input: KeyInput,
    /// Whether to use colours.
    pub has_colors: bool,
}

impl ShownTable {
    /// Takes the terminal.
    ///
    /// # Errors
    /// If standard input is no terminal, or the terminal cannot be used.
    pub fn begin(config: &Config) -> Result<Self> {
        if !KeyInput::is_terminal() {
            bail!(
                "--top reads keys from standard input, which is not a terminal: add --once to print the table"
            );
        }
        let has_colors = match config.color {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
            chosen => chosen != ColorChoice::Never,
        };
        memory::set_last_act(ratatui::restore);
        // Without this, a failure could leave the terminal without echo.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore());
        let terminal = terminal.context("cannot use the terminal for --top")?;
        Ok(ShownTable {
            terminal,
            input: KeyInput::default(),
            has_colors,
        })
    }

    /// Gives the terminal back to the shell, until the shell continues this program.
    ///
    /// # Errors
    /// If the terminal cannot be used again.
    pub fn suspend(&mut self) -> Result<()> {
        ratatui::restore();
        kill_process(getpid(), Signal::TSTP)?;
        self.terminal = ratatui::try_init()?;
        self.terminal.clear()?;
        Ok(())
    }
}

impl Drop for ShownTable {
    fn drop(&mut self) {
        ratatui::restore();
    }
}
