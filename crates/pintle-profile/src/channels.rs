//! The chats in which `pintle serve` answers: `channels` of agent.json.

use super::action::Written;
use super::document::{Field, Node};
use super::report::Problem;
use super::served::variable_of;
use schemars::JsonSchema;
use serde::Deserialize;

/// The chats in which `pintle serve` answers. Secrets are named, never written: `${NAME}` is a variable of the environment.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Channels {
    /// A bot on Telegram.
    pub telegram: Option<TelegramChannel>,
    /// The HTTP API, which is always served.
    pub http: Option<HttpChannel>,
    /// Questions go to the chat in which they came up too, and not to the approvers' private chats alone.
    #[serde(default)]
    pub questions_in_group: bool,
}

/// A bot on Telegram.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TelegramChannel {
    /// The bot's token, as `${NAME}`.
    #[schemars(extend("format" = "non-empty"))]
    pub token: String,
    /// The address of the Bot API. Default: Telegram's own.
    #[serde(default = "telegram_address")]
    #[schemars(extend("format" = "http-url"))]
    pub base_url: String,
    /// Telegram sends updates to this address, which ends in `/telegram/webhook`. Default: pintle asks for them.
    pub webhook: Option<ChannelWebhook>,
    /// The ids of the people who may write to the agent.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Others may pair with a code of `pintle messages pair`.
    #[serde(default = "on")]
    pub pairing: bool,
    /// In a group, only messages that address the bot are taken.
    #[serde(default = "on")]
    pub mention_in_groups: bool,
}

/// The HTTP API.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpChannel {
    /// The agent's messages are sent to this address.
    pub webhook: Option<ChannelWebhook>,
}

/// An address, and the secret with which messages to it are signed or checked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelWebhook {
    /// The address.
    #[schemars(extend("format" = "http-url"))]
    pub url: String,
    /// The secret, as `${NAME}`.
    #[schemars(extend("format" = "non-empty"))]
    pub secret: String,
}

fn telegram_address() -> String {
    "https://api.telegram.org".into()
}

fn on() -> bool {
    true
}

/// The fields that name a secret, with the channel they belong to.
pub(super) fn secrets(file: &Node) -> Vec<(&Field, &Node)> {
    let channels = file.table("channels");
    let mut found = Vec::new();
    for channel in channels {
        let webhook = channel.value.get("webhook").and_then(|webhook| webhook.get("secret"));
        let named = channel.value.get("token").into_iter().chain(webhook);
        found.extend(named.map(|node| (channel, node)));
    }
    found
}

/// Where channels send what is said, besides Telegram's own address.
pub(super) fn addresses(file: &Node) -> Vec<Written<String>> {
    let channel = |name: &str| file.get("channels").and_then(|channels| channels.get(name));
    let webhook = channel("http").and_then(|http| http.get("webhook")?.get("url"));
    let own_server = channel("telegram").and_then(|telegram| telegram.get("baseUrl"));
    let written =
        |node: &Node| Some(Written { value: node.text()?.to_owned(), span: node.span.clone() });
    webhook.into_iter().chain(own_server).filter_map(written).collect()
}

/// A secret that stands in the file is read by everybody who reads the file.
pub(super) fn check(file: &Node) -> Vec<Problem> {
    let is_written = |node: &Node| node.text().is_some_and(|text| variable_of(text).is_none());
    let problem = |node: &Node| {
        Problem::new(node.span.clone(), "a secret is named here, not written")
            .label("stands in the file")
            .help("put it into a variable of the environment and write `${NAME}`")
    };
    let written = secrets(file).into_iter().filter(|(_, node)| is_written(node));
    written.map(|(_, node)| problem(node)).collect()
}
