//! The tools of an MCP server pass the same pipeline as any other: a real published server, through an agent.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{Event, Verdict, points::ToolPre};
use pintle_agent::{ApprovalOutcome, ApprovalRequest, Approver};
use pintle_policy::{Guard, GuardKind, Level};
use pintle_tools::{McpLimits, McpServer, McpTransport};
use serde_json::json;

use super::real;
use super::support::{World, assert_whole, calls, of_type, play, results, says};

const ECHO: &str = "mcp__everything__echo";

async fn server() -> McpServer {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pintle-tools/tests/mcp");
    let program = folder.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    assert!(
        program.exists(),
        "the MCP server of the tests is not installed: run `cargo xtask test`, which runs `npm ci` in {}",
        folder.display()
    );
    let transport = McpTransport::Stdio {
        command: "node".into(),
        args: vec![program.display().to_string(), "stdio".into()],
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        cwd: folder,
        confinement: pintle_sandbox::Unconfined::by("this test").into(),
    };
    McpServer::connect("everything", transport, McpLimits::default()).await.unwrap()
}

/// Says yes, and keeps what it was asked.
#[derive(Default)]
struct Yes(Mutex<Vec<ApprovalRequest>>);

impl Approver for Yes {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        self.0.lock().unwrap().push(request);
        std::future::ready(ApprovalOutcome::Approved { by: "ann".into() }).boxed()
    }
}

async fn world(level: Level) -> World {
    let call = calls(&[("t1", ECHO, json!({"message": "grüß dich"}))]);
    let mut world = real(json!([call, says("Done.")])).await;
    world.policy.level = level;
    world
}

// R11.3, R11.4
#[tokio::test]
async fn a_call_is_asked_about_as_external_and_runs_after_a_yes() {
    let server = server().await;
    // Even at the loosest level: what is external is asked about.
    let world = world(Level::Permissive).await;
    let zones = Arc::new(Mutex::new(Vec::new()));
    let seen = zones.clone();
    let watch = move |event: Event<ToolPre>| {
        seen.lock().unwrap().push((event.tool_name.clone(), json!(event.zone)));
        async { Verdict::allow() }
    };
    world.hooks.named("watch").register_gate(watch).unwrap();
    let yes = Arc::new(Yes::default());
    let builder = world.builder().approver(yes.clone()).tools(server.tools());
    let events = play(&builder.build().unwrap(), "say it").await;
    assert_eq!(*zones.lock().unwrap(), [(ECHO.to_string(), json!(4))]);
    {
        let asked = yes.0.lock().unwrap();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].args, json!({"message": "grüß dich"}));
        assert!(asked[0].reason.contains("another server"), "{}", asked[0].reason);
    }
    let history = world.history().await;
    assert_whole(&history);
    assert_eq!(results(&history), [("t1".into(), false, "Echo: grüß dich".into())]);
    assert_eq!(of_type(&events, "tool.start").len(), 1);
    assert!(world.llm.requests()[0].tools.iter().any(|tool| tool.name == ECHO), "it is offered");
    server.shutdown().await;
}

// P2: each of those who may say no is heard, and the server never is.
#[tokio::test]
async fn whoever_says_no_to_a_call_is_obeyed() {
    let server = server().await;
    let guard =
        Guard::new("mcp__*", GuardKind::Json, &[], &["/message=*dich*".into()], "agent.json:7");
    let guard = guard.unwrap();
    for (who, words) in [
        ("nobody", "there is no one to ask"),
        ("gate", "not today"),
        ("guard", "agent.json:7"),
        ("toolset", "do not offer"),
        ("level", "level paranoid never allows this"),
        ("schema", "invalid arguments"),
    ] {
        let mut world = world(Level::Standard).await;
        let yes: Arc<dyn Approver> = match who {
            "nobody" => Arc::new(pintle_agent::NoOneToAsk),
            _ => Arc::new(Yes::default()),
        };
        match who {
            "gate" => {
                let gate = |_: Event<ToolPre>| async { Verdict::block("not today") };
                world.hooks.named("gate").tools(["mcp__*"]).register_gate(gate).unwrap();
            }
            "guard" => world.policy.guards = vec![guard.clone()],
            "toolset" => world.policy.deny = vec!["mcp__*".parse().unwrap()],
            "level" => world.policy.level = Level::Paranoid,
            "schema" => {
                world =
                    world.again(json!([calls(&[("t1", ECHO, json!({"message": 7}))]), says("No.")]))
            }
            _ => {}
        }
        let builder = world.builder().approver(yes).tools(server.tools());
        let events = play(&builder.build().unwrap(), "say it").await;
        let results = results(&world.history().await);
        let (_, failed, said) = &results[0];
        assert!(*failed && said.contains(words), "{who}: {said}");
        assert!(of_type(&events, "tool.start").is_empty(), "{who}");
        assert_eq!(of_type(&events, "tool.end")[0]["outcome"], "rejected", "{who}");
    }
    server.shutdown().await;
}
