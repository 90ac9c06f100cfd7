//! What the program passes in.

use std::{collections::BTreeMap, fmt, time::Duration};

/// What [`open`](crate::open) needs to know beside the model's name.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Keys and addresses by provider, as in `anthropic`. A provider that needs neither may be absent.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// How long a provider may send nothing at all before the request fails as `stalled`.
    ///
    /// Counted from the request to the first byte of the answer, and then from byte to byte: a long answer
    /// that keeps coming never stalls.
    pub stall_after: Duration,
}

impl Default for Settings {
    /// No keys, and two minutes of silence: a local model may take that long to load.
    fn default() -> Self {
        Self { providers: BTreeMap::new(), stall_after: Duration::from_secs(120) }
    }
}

/// Where a provider is and how to show that one may use it.
#[derive(Clone, Default)]
pub struct ProviderConfig {
    /// Its address, when it is not the provider's own: a proxy, a gateway, a compatible server.
    ///
    /// As the provider's own tools take it: `https://gateway.example/v1` for OpenAI, `https://gateway.example`
    /// for Anthropic. An address without a path gets the provider's usual one.
    pub base_url: Option<String>,
    /// The API key.
    pub api_key: Option<String>,
}

/// Shows whether there is a key, never the key.
impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "[key]"))
            .finish()
    }
}
