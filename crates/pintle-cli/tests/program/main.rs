//! The program, as a person or a script meets it: the real binary, its exact words, its exit codes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod asking;
mod background;
mod bad_input;
mod blocks;
mod chat;
mod compaction;
mod completions;
mod confined;
mod conversation;
mod demo;
mod docs;
mod doctor;
mod everyday;
mod examples;
mod explained;
mod floor;
mod help;
mod hooks;
mod hostile;
mod in_force;
mod init;
mod injection;
mod interruption;
mod json;
mod memory;
mod network;
mod otlp;
mod page;
mod pictures;
mod plugins;
mod plugins_held;
mod provider;
mod question;
mod reference;
mod replay;
mod resuming;
mod rules;
mod screen;
mod screens;
mod second_attempt;
mod server;
mod serving;
mod sessions;
mod settings;
mod sharing;
mod streaming;
mod support;
mod surroundings;
mod terminal;
mod tickets;
mod tiers;
mod trace;
