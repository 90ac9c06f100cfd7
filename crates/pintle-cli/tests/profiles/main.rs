//! What a profile can make the program do, and what it cannot: through the program, with real files, processes and
//! sockets. The witness is a file that must not be there.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs
)]

mod approvals;
mod files;
mod guarding;
mod hostile;
mod kills;
mod ledger;
mod observers;
mod plugins;
mod programs;
mod reload;
mod run;
mod secrets;
mod served;
mod states;
mod support;
mod warnings;
mod webhooks;
