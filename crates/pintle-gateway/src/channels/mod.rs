//! The channels that come with the gateway.

mod console;
mod http;
mod telegram;

use std::error::Error;

use pintle_http::reqwest;

pub use console::ConsoleChannel;
pub use http::{HTTP, HttpChannel, Webhook};
pub use telegram::{TelegramChannel, TelegramConfig, TelegramMode, TelegramWebhook};

/// The error of a request with all its causes. The address is left out: it may contain a secret.
fn error_chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
