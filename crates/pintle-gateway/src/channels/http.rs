//! HTTP as a channel: messages come in by `POST /v1/messages`. The reply is in the response, and can also go to a webhook.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt};
use hmac::{Hmac, Mac};
use pintle_agent::{Channel, ChannelError, ChannelFeatures, ChannelMessage, Inbox, SendError};
use pintle_http::reqwest::{Client, StatusCode, Url, header, redirect};
use serde_json::json;
use sha2::Sha256;
use tokio_util::sync::CancellationToken;

use crate::clock::{hex, now_ms};

/// The platform's name.
pub const HTTP: &str = "http";
/// How long the other side may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Where messages are sent to.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// The address.
    pub url: Url,
    /// The key that signs the body.
    pub secret: String,
}

/// The channel of the HTTP API.
pub struct HttpChannel {
    webhook: Option<(Webhook, Client)>,
}

impl HttpChannel {
    /// Callers get the reply in the response to their call.
    pub fn new() -> Self {
        Self { webhook: None }
    }

    /// Replies are also sent to this address.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn with_webhook(webhook: Webhook) -> Result<Self, ChannelError> {
        let client = pintle_http::client()
            .redirect(redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| ChannelError(error.to_string()))?;
        Ok(Self { webhook: Some((webhook, client)) })
    }
}

impl Default for HttpChannel {
    fn default() -> Self {
        Self::new()
    }
}

impl Channel for HttpChannel {
    fn platform(&self) -> &str {
        HTTP
    }

    fn features(&self) -> ChannelFeatures {
        ChannelFeatures { idempotency_key: true, ..ChannelFeatures::default() }
    }

    /// The API calls the gateway itself.
    fn receive(
        &self,
        _inbox: Arc<dyn Inbox>,
        stop: CancellationToken,
    ) -> BoxFuture<'_, Result<(), ChannelError>> {
        async move {
            stop.cancelled().await;
            Ok(())
        }
        .boxed()
    }

    fn send(&self, message: ChannelMessage) -> BoxFuture<'_, Result<Option<String>, SendError>> {
        async move {
            let Some((webhook, client)) = &self.webhook else { return Ok(Some(message.key)) };
            let body = json!({
                "v": 1,
                "ts": now_ms(),
                "id": message.key,
                "runId": message.run_id,
                "chat": message.chat_id,
                "replyTo": message.reply_to,
                "text": message.text,
            })
            .to_string();
            let signature = signature(&webhook.secret, &body)?;
            let sent = client
                .post(webhook.url.clone())
                .header(header::CONTENT_TYPE, "application/json")
                .header("Idempotency-Key", &message.key)
                .header("X-Pintle-Signature", format!("sha256={signature}"))
                .body(body)
                .send()
                .await;
            match sent {
                Ok(response) => answered(response.status(), response.headers(), message.key),
                // The key makes it safe to send the message again.
                Err(error) => Err(SendError::Temporary(super::error_chain(error))),
            }
        }
        .boxed()
    }
}

fn answered(
    status: StatusCode,
    headers: &header::HeaderMap,
    key: String,
) -> Result<Option<String>, SendError> {
    match status.as_u16() {
        200..=299 => Ok(Some(key)),
        429 | 503 => {
            let after =
                headers.get(header::RETRY_AFTER).and_then(|it| it.to_str().ok()?.parse().ok());
            Err(SendError::RetryAfter(Duration::from_secs(after.unwrap_or(5))))
        }
        408 | 425 | 500..=599 => Err(SendError::Temporary(format!("the webhook answers {status}"))),
        _ => Err(SendError::Rejected(format!("the webhook answers {status}"))),
    }
}

fn signature(secret: &str, body: &str) -> Result<String, SendError> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes())
        .map_err(|error| SendError::Rejected(error.to_string()))?;
    mac.update(body.as_bytes());
    Ok(hex(&mac.finalize().into_bytes()))
}
