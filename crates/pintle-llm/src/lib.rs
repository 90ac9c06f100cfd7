//! What writes text for the agent: an offline set of rules, a script, or a provider's API.
//!
//! [`open`] turns what `--model` says into an [`Llm`](pintle_agent::Llm). The agent's loop knows only
//! that trait, so everything a provider does in its own way ends here: its wire format, its error codes, and
//! a stream that stops early. A response is handed over as complete only when the provider said that it is.
//!
//! ```
//! use pintle_llm::{Settings, open};
//!
//! let llm = open("offline", &Settings::default())?;
//! assert_eq!(llm.name(), "offline");
//!
//! // A key that is missing is named, so that the user knows what to set.
//! let error = open("anthropic/claude-sonnet-4-5", &Settings::default()).err().expect("no key was given");
//! assert!(error.to_string().contains("ANTHROPIC_API_KEY"));
//! # Ok::<(), pintle_llm::OpenError>(())
//! ```
//!
//! This crate reads no environment variable: the program does, and passes the values in [`Settings`].
//! (The HTTP stack honours `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, as every HTTP client does.)

mod input;
mod offline;
mod open;
mod provider;
mod scripted;
mod text_stream;

pub use offline::Offline;
pub use open::{OpenError, has_price, open};
pub use provider::catalogue::{key_variable, providers};
pub use provider::settings::{ProviderConfig, Settings};
pub use scripted::{ScriptError, Scripted};
