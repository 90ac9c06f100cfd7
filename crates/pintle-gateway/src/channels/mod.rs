//! The channels that come with the gateway.

mod console;
mod http;
mod telegram;

pub use console::ConsoleChannel;
pub use http::{HTTP, HttpChannel, Webhook};
pub use telegram::{TelegramChannel, TelegramConfig, TelegramMode, TelegramWebhook};
