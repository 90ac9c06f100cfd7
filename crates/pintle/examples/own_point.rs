//! A point of your own: declared once, then bound and fired like those of the catalogue.
//!
//! ```sh
//! cargo run --example own_point
//! ```

#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::error::Error;

use pintle::{Binding, Cx, Envelope, Event, Gate, Hooks, PluginFilter, Verdict, point};

point! {
    /// A service is about to be deployed. A block stops the deployment.
    pub struct BeforeDeploy = "before_deploy": Gate<Binding> {
        /// What is deployed.
        pub service: String,
        /// How many copies.
        pub replica_count: u32,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let hooks = Hooks::new();
    hooks.named("not-too-many").register_gate(async |e: Event<BeforeDeploy>| {
        if e.replica_count > 10 { Verdict::block("more than ten copies") } else { Verdict::allow() }
    })?;

    let cx = Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginFilter::All);
    for (service, replica_count) in [("search", 2), ("billing", 50)] {
        let deploy = || BeforeDeploy { service: service.into(), replica_count };
        match hooks.fire_gate(&cx, deploy).await.blocked() {
            Some(block) => println!("{service}: blocked by {}: {}", block.handler, block.reason),
            None => println!("{service}: deployed"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_point_is_declared_bound_and_fired() {
        super::main().unwrap();
    }
}
