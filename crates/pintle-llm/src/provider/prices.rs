//! What providers charge, where it is known for certain.

use pintle_agent::LlmUsage;

/// US dollars for a million tokens.
struct Price {
    /// The model's name without a date.
    model: &'static str,
    input: f64,
    output: f64,
    cache_read: f64,
    cache_creation: f64,
}

/// List prices. A model that is not here has no known price, which is better than a wrong one.
const PRICES: &[Price] = &[
    price("claude-opus-4-5", 5.0, 25.0, 0.5, 6.25),
    price("claude-opus-4-1", 15.0, 75.0, 1.5, 18.75),
    price("claude-sonnet-4-5", 3.0, 15.0, 0.3, 3.75),
    price("claude-sonnet-4", 3.0, 15.0, 0.3, 3.75),
    price("claude-haiku-4-5", 1.0, 5.0, 0.1, 1.25),
    price("claude-3-5-haiku", 0.8, 4.0, 0.08, 1.0),
    price("gpt-5", 1.25, 10.0, 0.125, 1.25),
    price("gpt-5-mini", 0.25, 2.0, 0.025, 0.25),
    price("gpt-5-nano", 0.05, 0.4, 0.005, 0.05),
    price("gpt-4.1", 2.0, 8.0, 0.5, 2.0),
    price("gpt-4.1-mini", 0.4, 1.6, 0.1, 0.4),
    price("gpt-4o", 2.5, 10.0, 1.25, 2.5),
    price("gpt-4o-mini", 0.15, 0.6, 0.075, 0.15),
];

const fn price(
    model: &'static str,
    input: f64,
    output: f64,
    cache_read: f64,
    cache_creation: f64,
) -> Price {
    Price { model, input, output, cache_read, cache_creation }
}

/// Whether the model's price is known.
pub(crate) fn is_known(model: &str) -> bool {
    PRICES.iter().any(|price| is_dated(model, price.model))
}

/// The price of a response, if the model's is known.
pub(super) fn cost(model: &str, usage: &LlmUsage) -> Option<f64> {
    let price = PRICES.iter().find(|price| is_dated(model, price.model))?;
    let read = usage.cache_read_tokens.unwrap_or(0);
    let creation = usage.cache_creation_tokens.unwrap_or(0);
    // The client library counts cached tokens among the input for every provider.
    let fresh = usage.input_tokens.saturating_sub(read).saturating_sub(creation);
    let dollars = fresh as f64 * price.input
        + read as f64 * price.cache_read
        + creation as f64 * price.cache_creation
        + usage.output_tokens as f64 * price.output;
    Some(dollars / 1e6)
}

/// Whether a name is the model's, as it is or with a date: `gpt-4o-2024-08-06` is a `gpt-4o`, `gpt-4o-mini` and
/// `claude-sonnet-4-5` are not a `gpt-4o` and a `claude-sonnet-4`.
fn is_dated(name: &str, model: &str) -> bool {
    match name.strip_prefix(model).map(|rest| rest.strip_prefix('-').unwrap_or(rest)) {
        Some("") => name.len() == model.len(),
        Some("latest") => true,
        Some(date) => date.len() >= 8 && date.chars().all(|c| c.is_ascii_digit() || c == '-'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_name_has_the_price_of_its_model_and_a_sibling_does_not() {
        assert!(is_dated("gpt-4o", "gpt-4o"));
        assert!(is_dated("gpt-4o-2024-08-06", "gpt-4o"));
        assert!(is_dated("claude-sonnet-4-20250514", "claude-sonnet-4"));
        assert!(!is_dated("claude-sonnet-4-5", "claude-sonnet-4"));
        assert!(!is_dated("gpt-4o-mini", "gpt-4o"));
        assert!(!is_dated("gpt-5.6", "gpt-5"));
    }

    #[test]
    fn cached_tokens_are_charged_once_and_at_their_own_rate() {
        let usage = LlmUsage::default()
            .input_tokens(1_000_000)
            .output_tokens(100_000)
            .cache_read_tokens(600_000)
            .cache_creation_tokens(100_000);
        let cost = cost("claude-sonnet-4-5", &usage).unwrap();
        assert!((cost - (0.3 * 3.0 + 0.6 * 0.3 + 0.1 * 3.75 + 0.1 * 15.0)).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        assert_eq!(cost("something-new", &LlmUsage::default()), None);
    }
}
