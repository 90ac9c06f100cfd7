//! A payload can grow a field: another crate builds it with `default()` and setters.
use pintle::points::UserPromptSubmit;

fn main() {
    let _ = UserPromptSubmit { prompt: "hi".into() };
}
