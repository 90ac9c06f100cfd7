//! R4.3: every fire names its plugin filter. There is no default.
use pintle::{Cx, Envelope};

fn main() {
    let _ = Cx::new(Envelope::default());
}
