//! Calls of the Bot API, with the HTTP client that the crates share.

use std::time::Duration;

use pintle_agent::{ChannelError, SendError};
use pintle_http::reqwest::{Client, RequestBuilder, header};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{channels::error_chain, clock::new_id};

pub(super) struct BotApi {
    client: Client,
    /// With the token: it is not shown.
    address: String,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    RetryAfter(Duration),
    /// The request was understood and refused.
    #[error("Telegram refuses: {0}")]
    Refused(String),
    /// The call had no effect, and may succeed later.
    #[error("{0}")]
    Failed(String),
    /// It is unknown whether the call had an effect.
    #[error("the connection to Telegram broke: {0}")]
    Broken(String),
}

impl From<Problem> for SendError {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::RetryAfter(pause) => Self::RetryAfter(pause),
            Problem::Refused(_) => Self::Rejected(problem.to_string()),
            Problem::Failed(_) => Self::Temporary(problem.to_string()),
            Problem::Broken(_) => Self::Unknown(problem.to_string()),
        }
    }
}

impl BotApi {
    pub(super) fn new(base_url: &str, token: &str, poll: Duration) -> Result<Self, ChannelError> {
        let client = pintle_http::client()
            .connect_timeout(Duration::from_secs(10))
            .timeout(poll + Duration::from_secs(20))
            .build()
            .map_err(|error| ChannelError(error.to_string()))?;
        let address = format!("{}/bot{token}", base_url.trim_end_matches('/'));
        Ok(Self { client, address })
    }

    /// A call with these parameters; those that are null are left out.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        mut params: Value,
    ) -> Result<T, Problem> {
        if let Some(params) = params.as_object_mut() {
            params.retain(|_, value| !value.is_null());
        }
        let request = self.client.post(format!("{}/{method}", self.address));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        answer(request.body(params.to_string())).await
    }

    /// A call with a file that is in memory.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        fields: &[(&str, String)],
        file_name: &str,
        content: &str,
    ) -> Result<T, Problem> {
        let boundary = format!("pintle-{}", new_id());
        let mut body = String::new();
        for (name, value) in fields {
            body += &format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
        }
        let file_name = file_name.replace(['"', '\r', '\n'], "_");
        body += &format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"document\"; filename=\"{file_name}\"\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n{content}\r\n--{boundary}--\r\n"
        );
        let request = self.client.post(format!("{}/{method}", self.address));
        let kind = format!("multipart/form-data; boundary={boundary}");
        answer(request.header(header::CONTENT_TYPE, kind).body(body)).await
    }
}

#[derive(Deserialize)]
struct Success<T> {
    result: T,
}

#[derive(Deserialize)]
struct Failure {
    description: String,
    parameters: Option<FailureParameters>,
}

#[derive(Deserialize)]
struct FailureParameters {
    /// In seconds.
    retry_after: Option<u64>,
}

async fn answer<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Problem> {
    let response = request.send().await.map_err(|error| {
        let is_connect = error.is_connect();
        let text = error_chain(error);
        match is_connect {
            true => Problem::Failed(format!("Telegram cannot be reached: {text}")),
            false => Problem::Broken(text),
        }
    })?;
    let status = response.status();
    let body = response.text().await;
    let body = body.map_err(|error| Problem::Broken(error_chain(error)))?;
    if status.is_success() {
        let answer: Result<Success<T>, _> = serde_json::from_str(&body);
        return answer.map(|answer| answer.result).map_err(|it| Problem::Broken(it.to_string()));
    }
    let error: Option<Failure> = serde_json::from_str(&body).ok();
    let pause = error.as_ref().and_then(|error| error.parameters.as_ref()?.retry_after);
    let text = error.map_or_else(|| status.to_string(), |error| error.description);
    Err(match (status.as_u16(), pause) {
        (429, pause) => Problem::RetryAfter(Duration::from_secs(pause.unwrap_or(1))),
        // 409: another program polls this bot.
        (409 | 500..=599, _) => Problem::Failed(text),
        _ => Problem::Refused(text),
    })
}
