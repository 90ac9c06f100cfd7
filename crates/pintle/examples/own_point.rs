//! Points of your own: declared once, then bound and fired with types, and by name with JSON.
//!
//! ```sh
//! cargo run --example own_point
//! ```

#![allow(clippy::indexing_slicing, reason = "indexing a JSON value gives null, not a panic")]
#![allow(clippy::print_stdout, reason = "a program for the terminal")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::error::Error;

use pintle::{
    Binding, Cx, DynEvent, Envelope, Event, Failure, Gate, Hooks, ModelKind, Modifying,
    PluginFilter, Verdict, patch, point,
};
use serde_json::json;

point! {
    /// A service is about to be deployed, while the plan can still be changed.
    pub struct DeployPlanned = "deploy_planned": Modifying<DeployPatch> {
        /// What is deployed.
        pub service: String,
        /// How many copies.
        pub replica_count: u32,
    }
}

patch! {
    /// What may be changed about a deployment.
    pub struct DeployPatch {
        /// How many copies instead.
        pub replica_count: Option<u32>,
        /// Where to announce it.
        pub announce_in: Option<String>,
    }
}

point! {
    /// A service is about to be deployed, and the plan is final. A block stops the deployment.
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
    let cx = Cx::new(Envelope { platform: "cli".into(), ..Envelope::default() }, PluginFilter::All);

    // With types: the compiler knows the payload, the patch and the model.
    hooks.named("at-least-two").register_modifying(|e: Event<DeployPlanned>| async move {
        (e.replica_count < 2)
            .then(|| DeployPatch { replica_count: Some(2), ..DeployPatch::default() })
    })?;

    // By name, as config and plugins do. A point with no typed handler yet has to be declared first.
    hooks.declare::<BeforeDeploy>()?;
    hooks.named("announce").register_dyn(
        "deploy_planned",
        ModelKind::Modifying,
        |e: DynEvent| async move {
            let channel = format!("#{}", e.json["service"].as_str().unwrap_or("deploys"));
            Ok::<_, Failure>(json!({ "announceIn": channel, "replicaCount": 5 }))
        },
    )?;
    hooks.named("freeze").register_dyn(
        "before_deploy",
        ModelKind::Gate,
        |e: DynEvent| async move {
            let frozen = e.json["service"] == "billing";
            Ok::<_, Failure>(
                json!({ "continue": !frozen, "reason": "billing is frozen until Monday" }),
            )
        },
    )?;
    hooks.named("not-too-many").register_gate(|e: Event<BeforeDeploy>| async move {
        if e.replica_count > 10 { Verdict::block("more than ten copies") } else { Verdict::allow() }
    })?;

    for service in ["search", "billing"] {
        let plan = || DeployPlanned { service: service.into(), replica_count: 1 };
        let merged = hooks.fire_modifying(&cx, plan).await?;
        let replica_count = merged.replica_count.unwrap_or(1);
        println!("{service}: {replica_count} copies, announced in {:?}", merged.announce_in);
        for (key, handler) in merged.winners() {
            println!("  {key} was set by {handler}");
        }

        let outcome =
            hooks.fire_gate(&cx, || BeforeDeploy { service: service.into(), replica_count }).await;
        match outcome.blocked() {
            Some(block) => println!("  blocked by {}: {}", block.handler, block.reason),
            None => println!("  deployed"),
        }
    }

    // Firing by name: JSON in, JSON out, checked against the declaration.
    let payload = json!({ "service": "search", "replicaCount": 50 });
    let outcome = hooks.fire_dyn("before_deploy", &cx, payload).await?;
    println!("by name: {}", serde_json::to_string(&outcome)?);
    let wrong = json!({ "service": "search", "replicas": 50 });
    if let Err(error) = hooks.fire_dyn("before_deploy", &cx, wrong).await {
        println!("a payload that does not fit: {error}");
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
