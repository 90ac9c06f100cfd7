//! From what `--model` says to something that writes text.

use std::{path::Path, sync::Arc};

use genai::adapter::AdapterKind;
use pintle::similar::nearest;
use pintle_agent::Llm;

use crate::{
    Offline, ScriptError, Scripted, Settings, key_variable,
    provider::{Provider, catalogue, prices},
    providers,
};

/// Why a model could not be opened. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The name has no provider and is neither `offline` nor a script.
    #[error(
        "unknown model `{model}`: write `offline`, `scripted:FILE` or PROVIDER/NAME, as in \
         anthropic/claude-sonnet-4-5{}", did_you_mean(.nearest)
    )]
    UnknownModel {
        /// What was asked for.
        model: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// There is no such provider.
    #[error(
        "unknown model provider `{provider}`{}; known are offline, scripted:FILE, {}",
        did_you_mean(.nearest), providers().collect::<Vec<_>>().join(", ")
    )]
    UnknownProvider {
        /// What was asked for.
        provider: String,
        /// What was probably meant.
        nearest: Option<String>,
    },
    /// There is nothing after the provider's slash.
    #[error("`{provider}/` lacks the model's name: write `{provider}/NAME`")]
    NoName {
        /// The provider.
        provider: String,
    },
    /// The provider needs a key and was given none.
    #[error(
        "the model `{model}` needs a key: set {variable} (any value, when the server behind your own base \
         URL wants none)"
    )]
    NoKey {
        /// What was asked for.
        model: String,
        /// The environment variable that by custom holds the key.
        variable: &'static str,
    },
    /// The provider has no address of its own.
    #[error(
        "the model `{model}` needs a base URL: {provider} has no address that is the same for everybody"
    )]
    NoBaseUrl {
        /// What was asked for.
        model: String,
        /// The provider.
        provider: String,
    },
    /// The address given for the provider is none.
    #[error(
        "the base URL `{url}` of {provider} is not an address: write http://HOST or https://HOST, with or without a path"
    )]
    BadBaseUrl {
        /// The provider.
        provider: String,
        /// What was given.
        url: String,
    },
    /// The script cannot be read or is not a script.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The HTTP client could not be set up, usually because of the system's certificates.
    #[error("cannot set up the HTTP client for `{model}`: {cause}")]
    Client {
        /// What was asked for.
        model: String,
        /// What the client said.
        cause: String,
    },
}

/// Opens a model: `offline`, `scripted:FILE`, or `PROVIDER/NAME` as in `anthropic/claude-sonnet-4-5`.
///
/// The name may itself contain slashes (`open_router/openai/gpt-4.1`). Models that OpenAI serves only over its
/// newer API are under `openai_resp/NAME`. Nothing is sent yet, so a wrong key shows at the first request;
/// a missing one shows here.
pub fn open(model: &str, settings: &Settings) -> Result<Arc<dyn Llm>, OpenError> {
    if model == "offline" {
        return Ok(Arc::new(Offline));
    }
    if let Some(file) = model.strip_prefix("scripted:") {
        return Ok(Arc::new(Scripted::open(Path::new(file))?));
    }
    let Some((provider, name)) = model.split_once('/') else {
        return Err(OpenError::UnknownModel {
            model: model.to_owned(),
            nearest: nearest_model(model),
        });
    };
    let Some(kind) = AdapterKind::from_lower_str(provider) else {
        return Err(OpenError::UnknownProvider {
            provider: provider.to_owned(),
            nearest: nearest(provider, providers()).map(str::to_owned),
        });
    };
    if name.is_empty() {
        return Err(OpenError::NoName { provider: provider.to_owned() });
    }
    let config = settings.providers.get(provider).cloned().unwrap_or_default();
    // A key from a file or a variable often brings its line break along.
    let api_key = config.api_key.map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    if api_key.is_none()
        && catalogue::needs_key(kind)
        && let Some(variable) = key_variable(provider)
    {
        return Err(OpenError::NoKey { model: model.to_owned(), variable });
    }
    let base_url = match config.base_url.filter(|url| !url.trim().is_empty()) {
        Some(url) => Some(
            complete_url(kind, &url)
                .ok_or(OpenError::BadBaseUrl { provider: provider.to_owned(), url })?,
        ),
        None if catalogue::needs_base_url(kind) => {
            return Err(OpenError::NoBaseUrl {
                model: model.to_owned(),
                provider: provider.to_owned(),
            });
        }
        None => None,
    };
    let provider = Provider::new(kind, model, name, api_key, base_url, settings.stall_after)
        .map_err(|error| OpenError::Client { model: model.to_owned(), cause: error.to_string() })?;
    Ok(Arc::new(provider))
}

/// Whether answers of this model say what they cost, which a limit on cost needs.
///
/// The price of a server behind a custom base URL is unknown, and so is that of a model without a list price here. A script
/// gives the cost of each answer itself.
pub fn has_price(model: &str, settings: &Settings) -> bool {
    let Some((provider, name)) = model.split_once('/').filter(|_| !model.starts_with("scripted:"))
    else {
        return true;
    };
    match AdapterKind::from_lower_str(provider) {
        Some(AdapterKind::Ollama) => true,
        Some(_) => {
            let own_address = settings.providers.get(provider).and_then(|c| c.base_url.as_ref());
            own_address.is_none_or(|url| url.trim().is_empty()) && prices::is_known(name)
        }
        None => false,
    }
}

/// The address with the path and the closing slash that the client library counts on.
fn complete_url(kind: AdapterKind, url: &str) -> Option<String> {
    let url = url.trim();
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.is_empty() || rest.contains(char::is_whitespace) {
        return None;
    }
    let base = url.trim_end_matches('/');
    Some(if path.is_empty() {
        format!("{base}/{}", catalogue::usual_path(kind))
    } else {
        format!("{base}/")
    })
}

/// A model without its provider, as in `gpt-4o`, or a misspelt `offline`.
fn nearest_model(model: &str) -> Option<String> {
    if let Some(provider) = providers().find(|provider| *provider == model) {
        return Some(format!("{provider}/NAME"));
    }
    match AdapterKind::from_model(model) {
        // The client library's answer for every name that it does not know.
        Ok(AdapterKind::Ollama) | Err(_) => nearest(model, ["offline"]).map(str::to_owned),
        Ok(kind) => Some(format!("{}/{model}", kind.as_lower_str())),
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
