//! One attempt at one message.

use std::error::Error;

use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, Mac};
use pintle_http::reqwest::{self, Client, Proxy, StatusCode, redirect::Policy};
use sha2::Sha256;

use super::{
    WebhookError, WebhookOptions, WebhookSecret, WebhookSpec,
    address::{CheckedDns, RefusedAddress, Target},
    journal::Message,
};

/// How an attempt ended.
pub(super) enum Sent {
    Delivered,
    /// The endpoint, or a rule of ours, refused it. A retry will not help.
    Refused(String),
    /// The endpoint could not take it, perhaps because of what it is.
    Failed(String),
    /// The endpoint cannot be reached, or asks for time: the message itself may be fine.
    Away(String),
}

/// How messages are sent: where to, by which way, signed with what.
pub(super) struct Sender {
    client: Client,
    target: Target,
    secret: Option<WebhookSecret>,
    proxy: Option<String>,
}

impl Sender {
    pub(super) fn new(
        target: Target,
        spec: &WebhookSpec,
        options: &WebhookOptions,
    ) -> Result<Self, WebhookError> {
        let bad = |error: reqwest::Error| WebhookError::Client { detail: chain(&error) };
        let dns = CheckedDns { loopback: target.loopback, lookup: options.lookup.clone() };
        let mut client = pintle_http::client()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .timeout(options.request_timeout)
            // So that an endpoint that cannot be reached differs from one that does not answer.
            .connect_timeout(options.request_timeout / 2)
            .dns_resolver(dns)
            .user_agent(concat!("pintle/", env!("CARGO_PKG_VERSION")));
        // `127.0.0.1` is this machine, and not the proxy's.
        if let Some(proxy) = spec.proxy.as_ref().filter(|_| !target.loopback) {
            client = client.proxy(Proxy::all(proxy).map_err(bad)?);
        }
        let (secret, proxy) = (spec.secret.clone(), spec.proxy.clone());
        Ok(Self { client: client.build().map_err(bad)?, target, secret, proxy })
    }

    /// Whether it sends to its endpoint as a sender for that would.
    pub(super) fn serves(&self, spec: &WebhookSpec) -> bool {
        self.secret == spec.secret && self.proxy == spec.proxy
    }

    pub(super) fn secret_name(&self) -> Option<&str> {
        self.secret.as_ref().map(|secret| secret.name.as_str())
    }

    pub(super) async fn send(&self, message: &Message) -> Sent {
        let (content_type, body) = match &message.content_type {
            None => ("application/json", message.body.as_bytes().to_vec()),
            Some(content_type) => match BASE64_STANDARD.decode(message.body.as_bytes()) {
                Ok(body) => (&**content_type, body),
                Err(error) => return Sent::Refused(format!("it is not in base64: {error}")),
            },
        };
        let mut request = self
            .client
            .post(self.target.url.clone())
            .header("content-type", content_type)
            .header("x-pintle-delivery", &*message.id)
            .body(body);
        if let Some(secret) = &self.secret {
            request = request.header("x-pintle-signature", signature(&secret.value, &message.body));
        }
        match request.send().await {
            Ok(response) => judge(response.status()),
            Err(error) if caused_by_refusal(&error) => Sent::Refused(chain(&error)),
            Err(error) if error.is_connect() => Sent::Away(chain(&error)),
            Err(error) => Sent::Failed(chain(&error)),
        }
    }
}

fn judge(status: StatusCode) -> Sent {
    match status {
        _ if status.is_success() => Sent::Delivered,
        _ if status.is_redirection() => {
            Sent::Refused(format!("the endpoint redirects ({status}), which is not followed"))
        }
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => {
            Sent::Away(format!("the endpoint answered {status}"))
        }
        _ if status.is_client_error() => Sent::Refused(format!("the endpoint answered {status}")),
        _ => Sent::Failed(format!("the endpoint answered {status}")),
    }
}

/// `sha256=` and the HMAC-SHA256 of the body in hexadecimal.
fn signature(secret: &str, body: &str) -> String {
    // An HMAC takes a key of any length: this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(body.as_bytes());
    let hex: String =
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn causes(error: &reqwest::Error) -> Vec<&(dyn Error + 'static)> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let mut causes = Vec::new();
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }
    causes
}

fn caused_by_refusal(error: &reqwest::Error) -> bool {
    causes(error).iter().any(|cause| cause.is::<RefusedAddress>())
}

fn chain(error: &reqwest::Error) -> String {
    causes(error).iter().map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
