//! A provider's failures in the codes that the loop knows.

use std::time::Duration;

use genai::{Error, webc::StreamTimeout};
use pintle_agent::LlmError;
use serde_json::Value;

/// How much of a provider's message is shown.
const MESSAGE_CHARS: usize = 600;

/// Turns failures of one model into errors that name it.
pub(super) struct Failures {
    model: String,
    key_variable: Option<&'static str>,
    /// Providers quote wrong keys; what we show must not.
    key: Option<String>,
}

impl Failures {
    pub(super) fn new(
        model: &str,
        key_variable: Option<&'static str>,
        key: Option<String>,
    ) -> Self {
        Self { model: model.to_owned(), key_variable, key }
    }

    /// The stream stopped before the provider said that the answer is complete.
    pub(super) fn cut(&self) -> LlmError {
        self.retryable("cut", "the answer broke off before its end; nothing it asked for was run")
    }

    /// The error of a response that ended with a reason that is a failure.
    pub(super) fn failed_stop(&self, reason: &str) -> Option<LlmError> {
        match reason {
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Some(self.retryable(
                "server_error",
                &format!("the model wrote an unreadable tool call ({reason})"),
            )),
            "failed" | "cancelled" | "ERROR" | "error" => Some(
                self.retryable("server_error", &format!("the provider stopped with `{reason}`")),
            ),
            _ => None,
        }
    }

    /// What a failure of the client library means.
    pub(super) fn explain(&self, error: Error) -> LlmError {
        match error {
            Error::WebStream { cause, error, .. } => match error.downcast::<Error>() {
                Ok(inner) => self.explain(*inner),
                Err(error) if error.is::<StreamTimeout>() => {
                    self.retryable("stalled", "the provider fell silent")
                }
                Err(error) => self.transport(cause, error.as_ref()),
            },
            Error::HttpError { status, body, headers, .. } => {
                let header =
                    |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
                let wait = retry_after(header("retry-after-ms"), header("retry-after"));
                let message = message_in(&body).unwrap_or_else(|| status.to_string());
                self.by_status(status.as_u16(), &message, &body, wait)
            }
            // An error that arrives in the middle of a stream that began well.
            Error::ChatResponse { body, .. } => {
                let text = body.to_string();
                let message =
                    message_in(&text).unwrap_or_else(|| "the provider sent an error".to_owned());
                self.by_status(status_of(&body), &message, &text, None)
            }
            // A body that ends inside a message leaves half of its JSON.
            Error::StreamParse { serde_error, .. } if serde_error.is_eof() => self.cut(),
            Error::StreamParse { .. } | Error::JsonValueExt(_) | Error::SerdeJson(_) => self
                .retryable(
                    "server_error",
                    &format!("the provider sent something unreadable: {error}"),
                ),
            other => self.final_error("bad_request", &other.to_string()),
        }
    }

    /// The connection failed, before the answer or in the middle of it.
    ///
    /// Goes by the words of the HTTP client, which says no more than that; tests pin them.
    fn transport(&self, cause: String, error: &(dyn std::error::Error + 'static)) -> LlmError {
        let mut message = cause.clone();
        let mut root = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            root = inner.to_string();
            message = format!("{message}: {root}");
            source = inner.source();
        }
        if cause.starts_with("error sending request") {
            let message = unreachable(&cause, &root, &self.model).unwrap_or(message);
            self.retryable("network", &message)
        } else if cause.starts_with("builder error")
            || cause.starts_with("error following redirect")
        {
            self.final_error("bad_request", &message)
        } else {
            self.cut()
        }
    }

    fn by_status(
        &self,
        status: u16,
        message: &str,
        body: &str,
        wait: Option<Duration>,
    ) -> LlmError {
        let error = match status {
            // Waiting does not fill an account.
            // Said before the status is looked at: providers use 400, 413, 422 and 500 for it.
            _ if is_too_long(body) => self.final_error(LlmError::TOO_LONG, message),
            429 if body.contains("insufficient_quota") => self.final_error("rate_limited", message),
            429 => self.retryable("rate_limited", message),
            503 | 529 => self.retryable("overloaded", message),
            408 | 500..=599 => self.retryable("server_error", message),
            401 | 403 => match self.key_variable {
                Some(variable) => self.final_error(
                    "auth",
                    &format!("the provider refused the key in {variable}: {message}"),
                ),
                None => self.final_error("auth", message),
            },
            _ => self.final_error("bad_request", message),
        };
        LlmError { retry_after: wait.filter(|_| error.retryable), ..error }
    }

    fn retryable(&self, code: &str, message: &str) -> LlmError {
        LlmError { retryable: true, ..self.final_error(code, message) }
    }

    fn final_error(&self, code: &str, message: &str) -> LlmError {
        let mut message: String = message.chars().take(MESSAGE_CHARS).collect();
        if let Some(key) = self.key.as_deref().filter(|key| key.len() >= 8) {
            message = message.replace(key, "[key]");
        }
        LlmError {
            code: code.to_owned(),
            message: format!("{}: {message}", self.model),
            retryable: false,
            retry_after: None,
        }
    }
}

/// Which server did not answer and why, without the chain of the client library's own words.
fn unreachable(cause: &str, root: &str, model: &str) -> Option<String> {
    let url = cause.split_once("url (")?.1.split(')').next()?;
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let why = root.split(" (os error").next()?.to_lowercase();
    let message = format!("cannot reach {scheme}://{host}: {why}");
    Some(match model.starts_with("ollama/") {
        true => format!("{message}; start it with `ollama serve`, or set OLLAMA_BASE_URL"),
        false => message,
    })
}

/// How long to wait, from `retry-after-ms` or `retry-after` in seconds. A date is not understood.
fn retry_after(millis: Option<&str>, seconds: Option<&str>) -> Option<Duration> {
    let millis = millis.and_then(|text| text.parse::<f64>().ok()).map(|millis| millis / 1000.0);
    let seconds = millis.or_else(|| seconds.and_then(|text| text.parse().ok()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The sentence in an error body, whichever of the usual shapes it has.
fn message_in(body: &str) -> Option<String> {
    let json: Value = match serde_json::from_str(body) {
        Ok(json) => json,
        Err(_) => return Some(body.trim().to_owned()).filter(|text| !text.is_empty()),
    };
    let json = json.get(0).unwrap_or(&json);
    let places = ["/error/message", "/message", "/error", "/detail"];
    places.iter().find_map(|place| json.pointer(place)?.as_str()).map(str::to_owned)
}

/// How providers say that a request does not fit the model's window.
const TOO_LONG: [&str; 9] = [
    // Anthropic
    "prompt is too long",
    "exceed context limit",
    // OpenAI, and those that speak like it
    "context_length_exceeded",
    "maximum context length",
    "exceeds the context window",
    // Gemini
    "input token count",
    // llama.cpp, Ollama
    "exceeds the available context size",
    "exceed_context_size",
    "input length exceeds",
];

fn is_too_long(body: &str) -> bool {
    let body = body.to_lowercase();
    TOO_LONG.iter().any(|words| body.contains(words))
}

/// The HTTP status that an error in a stream stands for.
fn status_of(body: &Value) -> u16 {
    let error = body.get("error").filter(|error| error.is_object()).unwrap_or(body);
    if let Some(status) =
        error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok())
    {
        return status;
    }
    let names = ["type", "status", "code"]
        .map(|field| error.get(field).and_then(Value::as_str).unwrap_or_default());
    let named =
        |parts: &[&str]| names.iter().any(|name| parts.iter().any(|part| name.contains(part)));
    // The client library's own body for a chunk without an answer: a prompt that was blocked.
    if named(&["invalid_request", "INVALID_ARGUMENT", "not_found"])
        || error.get("finishReason").is_some()
    {
        400
    } else if named(&["authentication", "permission"]) {
        401
    } else if named(&["rate_limit", "RESOURCE_EXHAUSTED"]) {
        429
    } else if named(&["overloaded", "UNAVAILABLE"]) {
        529
    } else {
        500
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_reached_is_named_with_the_way_out() {
        let cause = "error sending request for url (http://localhost:11434/v1/chat/completions)";
        let root = "Connection refused (os error 111)";
        assert_eq!(
            unreachable(cause, root, "ollama/llama3").unwrap_or_default(),
            "cannot reach http://localhost:11434: connection refused; \
             start it with `ollama serve`, or set OLLAMA_BASE_URL"
        );
        assert_eq!(
            unreachable(cause, root, "openai/gpt-5").unwrap_or_default(),
            "cannot reach http://localhost:11434: connection refused"
        );
    }
}
