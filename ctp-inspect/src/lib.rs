//! Reads the tasks and threads of a process, or of a core file, from outside.
//!
//! The process needs no probe. It is neither stopped nor changed: everything comes from its memory and
//! from `/proc`.
