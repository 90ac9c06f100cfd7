//! How much models take, where it is known for certain.

/// The start of a model's name, and the most tokens of a request. The first that fits holds.
const WINDOWS: &[(&str, u64)] = &[
    ("claude-", 200_000),
    ("gpt-5", 272_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini-2", 1_048_576),
    ("gemini-3", 1_048_576),
];

/// The window of this model. One that is not known is found out when the provider says that a request is too long.
pub(super) fn of(model: &str) -> Option<u64> {
    WINDOWS.iter().find(|(start, _)| model.starts_with(start)).map(|(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_the_window_of_its_family() {
        assert_eq!(of("claude-sonnet-4-5-20250929"), Some(200_000));
        assert_eq!(of("gpt-4o-mini"), Some(128_000));
        assert_eq!(of("llama3.2"), None);
    }
}
