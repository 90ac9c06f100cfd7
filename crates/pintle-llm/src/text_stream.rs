//! Text in small pieces, for the models that have all of it at once.

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use pintle_agent::{LlmError, LlmEvent, LlmResponse};

/// Splits after each space or line break; the pieces joined are the text.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    text.split_inclusive(char::is_whitespace).map(str::to_owned).collect()
}

/// The text word by word.
pub(crate) fn deltas(
    text: &str,
) -> impl Iterator<Item = Result<LlmEvent, LlmError>> + Send + use<> {
    pieces(text).into_iter().map(|piece| Ok(LlmEvent::TextDelta(piece)))
}

/// The response's text word by word, then its end.
pub(crate) fn stream(response: LlmResponse) -> BoxStream<'static, Result<LlmEvent, LlmError>> {
    let deltas = deltas(&response.text);
    stream::iter(deltas.chain([Ok(LlmEvent::End(response))])).boxed()
}

/// About how many tokens a text of so many bytes is. Good enough to see numbers move, and the same each time.
pub(crate) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}
