//! Ctrl-C, heard from the first moment on: one that comes while nobody awaits it is not lost.

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Interrupts(Option<Signal>);

impl Interrupts {
    /// From here on Ctrl-C no longer ends the process by itself.
    pub(crate) fn listen() -> Self {
        Self(signal(SignalKind::interrupt()).ok())
    }

    /// The next one, or one that has come since the last.
    pub(crate) async fn next(&mut self) {
        let heard = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if heard.is_none() {
            std::future::pending().await
        }
    }
}
