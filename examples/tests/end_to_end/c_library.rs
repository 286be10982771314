//! Programs in C and C++ that use `ctp-c`: what the report says of them is compared with what they
//! print.

mod asio;
mod build;
mod freertos;
mod header;
mod install;
mod misuse;
mod mixin;
mod page;
mod sessions;
mod spawn_line;
mod stackful;
mod work_stealing;
