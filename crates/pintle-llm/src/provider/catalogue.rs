//! Which providers there are, and what each needs.

use genai::adapter::AdapterKind;

/// The names of all providers, as written before the slash of a model's name.
pub fn providers() -> impl Iterator<Item = &'static str> {
    AdapterKind::all().iter().map(AdapterKind::as_lower_str)
}

/// The environment variable that by custom holds a provider's key; none when it needs no key or is unknown.
///
/// The program looks there; this crate does not.
pub fn key_variable(provider: &str) -> Option<&'static str> {
    AdapterKind::from_lower_str(provider)?.default_key_env_name()
}

/// Whether a request without a key could succeed.
pub(crate) fn needs_key(kind: AdapterKind) -> bool {
    kind.default_key_env_name().is_some() && kind != AdapterKind::Omlx
}

/// Whether the client library would take the address from the environment. We then ask for one instead.
pub(crate) fn needs_base_url(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Vertex | AdapterKind::BedrockApi | AdapterKind::Omlx)
}

/// Whether it speaks Anthropic's protocol, which can mark a tool result as an error.
pub(crate) fn speaks_anthropic(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Anthropic | AdapterKind::MiniMax)
}

/// Whether it speaks Ollama's own protocol, which has one message per tool result.
pub(crate) fn speaks_ollama(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::Ollama | AdapterKind::OllamaCloud)
}

/// The path that a provider's own tools add to an address without one.
pub(crate) fn usual_path(kind: AdapterKind) -> &'static str {
    match kind {
        AdapterKind::Anthropic | AdapterKind::OpenAI | AdapterKind::OpenAIResp => "v1/",
        AdapterKind::Gemini | AdapterKind::GeminiIx => "v1beta/",
        _ => "",
    }
}
