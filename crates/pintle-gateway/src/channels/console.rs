//! The terminal as a channel: each line is a message.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use pintle::points::{InboundMessage, Sender};
use pintle_agent::{Channel, ChannelError, ChannelMessage, Inbox, SendError};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

use crate::clock::new_id;

type Lines = Box<dyn AsyncBufRead + Send + Unpin>;

/// Reads each line as a message, and passes replies to a function.
pub struct ConsoleChannel {
    lines: Mutex<Lines>,
    sender: String,
    print: Box<dyn Fn(&str) + Send + Sync>,
}

impl ConsoleChannel {
    /// Lines of this reader are messages from `sender`; replies go to `print`.
    pub fn new(
        lines: impl AsyncBufRead + Send + Unpin + 'static,
        sender: impl Into<String>,
        print: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self { lines: Mutex::new(Box::new(lines)), sender: sender.into(), print: Box::new(print) }
    }

    async fn read(&self, inbox: Arc<dyn Inbox>) -> Result<(), ChannelError> {
        let mut lines = self.lines.lock().await;
        loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).await;
            if read.map_err(|error| ChannelError(error.to_string()))? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                continue;
            }
            let message = InboundMessage::default()
                .id(new_id())
                .platform("console")
                .chat_id("console")
                .sender(Sender::default().id(self.sender.as_str()))
                .text(line.trim_end())
                .is_direct(true)
                .mentions_agent(true);
            inbox.accept(message).await?;
        }
    }
}

impl Channel for ConsoleChannel {
    fn platform(&self) -> &str {
        "console"
    }

    fn receive(
        &self,
        inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>> {
        async move {
            tokio::select! {
                () = stop.cancelled() => Ok(()),
                read = self.read(inbox) => read,
            }
        }
        .boxed()
    }

    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>> {
        (self.print)(&message.text);
        std::future::ready(Ok(None)).boxed()
    }
}
