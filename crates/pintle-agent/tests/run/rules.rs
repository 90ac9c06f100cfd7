//! R11.7, as the judge does it: which question a rule answers, and which it does not.

use std::sync::{Arc, Mutex};

use futures_util::{FutureExt, future::BoxFuture};
use pintle::{Event, Verdict, points::ToolPre};
use pintle_agent::{
    ApprovalOutcome, ApprovalRequest, ApprovalRule, Approver, PermittedCall, StandingRule, Tool,
    ToolCx, ToolError, ToolSpec,
};
use pintle_policy::{Level, Zone};
use pintle_sandbox::Grant;
use serde_json::{Value, json};

use crate::support::{World, calls, of_type, play, results, says};

/// Says no to every question, and keeps what it was asked.
struct Ruled {
    rule: ApprovalRule,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Ruled {
    fn new(tool: &str, allow: Option<&str>, zone: Zone) -> Arc<Self> {
        let (tool, allow, kind) = (tool.into(), allow.map(Into::into), None);
        let rule = ApprovalRule { tool, allow, kind, zone };
        Arc::new(Self { rule, asked: Mutex::default() })
    }

    fn asked(&self) -> Vec<ApprovalRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Ruled {
    fn rules(&self, _: Option<&str>) -> BoxFuture<'static, Vec<StandingRule>> {
        let standing = StandingRule { rule: self.rule.clone(), written: None };
        std::future::ready(vec![standing]).boxed()
    }

    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'static, ApprovalOutcome> {
        self.asked.lock().unwrap().push(request);
        let no = ApprovalOutcome::Denied { by: "bob".into(), reason: None };
        std::future::ready(no).boxed()
    }
}

fn write(path: &str) -> Value {
    json!({"path": path, "content": "x"})
}

/// At this level every write is asked about.
async fn strict(paths: &[&str]) -> World {
    let turns = paths.iter().map(|path| calls(&[("t1", "write_file", write(path))]));
    let script: Vec<Value> = turns.chain([says("Done.")]).collect();
    let mut world = World::new(script.into()).await;
    world.policy.level = Level::Strict;
    std::fs::create_dir(world.file("out")).unwrap();
    world
}

#[tokio::test]
async fn a_rule_answers_the_question_of_the_zone_and_the_record_names_it() {
    let world = strict(&["out/a", "b"]).await;
    let approver = Ruled::new("write_file", Some("out/**"), Zone::Workspace);
    let agent = world.builder().approver(approver.clone()).build().unwrap();
    let events = play(&agent, "write them").await;
    assert!(world.file("out/a").exists() && !world.file("b").exists());
    let by: Vec<_> = of_type(&events, "approval.resolved").iter().map(|it| &it["by"]).collect();
    assert_eq!(by, [&json!("the rule `write_file out/**` (this session)"), &json!("bob")]);
    let [asked] = approver.asked().try_into().unwrap();
    assert_eq!(asked.args, write("b"));
    assert_eq!(asked.rule.unwrap().to_string(), "write_file b");
}

#[tokio::test]
async fn a_rule_does_not_answer_what_a_hook_asks() {
    let world = strict(&["out/a"]).await;
    let ask = async |e: Event<ToolPre>| Verdict::ask(&e, "is it Sunday?");
    world.hooks.register_gate(ask).unwrap();
    let approver = Ruled::new("write_file", Some("out/**"), Zone::Workspace);
    play(&world.builder().approver(approver.clone()).build().unwrap(), "write it").await;
    assert!(!world.file("out/a").exists());
    let [asked] = approver.asked().try_into().unwrap();
    assert_eq!(asked.rule, None, "{}", asked.reason);
}

// R10.9, R11.2: whatever a rule says of the folder around it.
#[tokio::test]
async fn a_rule_covers_nothing_protected_or_secret() {
    for secret in [false, true] {
        let mut world = strict(&["out/keys"]).await;
        world.policy.level = Level::Standard;
        let keys = vec![world.file("out").canonicalize().unwrap().join("keys")];
        match secret {
            true => world.policy.secret = keys,
            false => world.policy.protected = keys,
        }
        let approver = Ruled::new("write_file", Some("**"), Zone::Machine);
        play(&world.builder().approver(approver.clone()).build().unwrap(), "write it").await;
        assert!(!world.file("out/keys").exists());
        let [asked] = approver.asked().try_into().unwrap();
        assert_eq!(asked.rule, None, "{}", asked.reason);
    }
}

/// Is refused something by the kernel, unless a person granted it.
struct Reaching;

impl Tool for Reaching {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("mcp__far__reach", "For a test.", json!({"type": "object"}))
    }

    fn run(&self, call: PermittedCall, _: ToolCx) -> BoxFuture<'static, Result<String, ToolError>> {
        let grants = vec![Grant::Host("example.org:443".into())];
        let ran = match call.grants().is_empty() {
            true => Err(ToolError::Refused { text: "refused".into(), grants }),
            false => Ok("granted".into()),
        };
        std::future::ready(ran).boxed()
    }
}

// R11.8
#[tokio::test]
async fn a_rule_does_not_grant_anything_to_a_second_attempt() {
    let name = "mcp__far__reach";
    let script = json!([calls(&[("t1", name, json!({}))]), says("Done.")]);
    let mut world = World::new(script).await;
    world.policy.level = Level::Standard;
    let tool: Arc<dyn Tool> = Arc::new(Reaching);
    let approver = Ruled::new(name, None, Zone::Machine);
    let agent = world.builder().tools([tool]).approver(approver.clone()).build().unwrap();
    let events = play(&agent, "reach").await;
    assert_eq!(of_type(&events, "tool.start").len(), 1, "the rule covers the first attempt");
    let [asked] = approver.asked().try_into().unwrap();
    assert!(asked.args.get("grants").is_some() && asked.rule.is_none(), "{}", asked.args);
    let (_, _, said) = &results(&world.history().await)[0];
    assert!(said.contains("it was not run again: bob said no"), "{said}");
}
