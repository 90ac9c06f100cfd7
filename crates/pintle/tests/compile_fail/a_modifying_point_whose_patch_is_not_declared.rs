//! R5.1: what the handlers of a Modifying point return is declared with `patch!`.
use pintle::{Modifying, point};

pub struct GreetingPatch {
    pub hello: Option<String>,
}

point! {
    /// Somebody is about to be greeted.
    pub struct BeforeGreeting = "before_greeting": Modifying<GreetingPatch> {
        /// Who.
        pub name: String,
    }
}

fn main() {}
