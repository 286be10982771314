//! ctp-nostd
#![no_std]
