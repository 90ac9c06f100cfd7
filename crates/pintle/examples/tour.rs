//! A guided tour of the four models: what fires, in what order, who wins, what is blocked.
//!
//! ```sh
//! cargo run --example tour
//! ```

#![allow(clippy::indexing_slicing, reason = "indexing a JSON value gives null, not a panic")]
#![allow(
    clippy::print_stdout,
    clippy::panic,
    reason = "a program for the terminal, with handlers that crash"
)]

use std::{
    error::Error,
    fmt::Display,
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use pintle::{
    Cx, Envelope, Event, FireRecord, HandlerOutcome, Hooks, PluginFilter, RecordSink, Verdict,
    points::{
        BeforePromptBuild, Handled, InboundClaim, InboundMessage, PromptPatch, Sender,
        SessionOpened, ToolPre,
    },
};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Two handlers of this tour panic, on purpose. The engine catches that; this keeps the report off the screen.
    std::panic::set_hook(Box::new(|_| {}));
    let tour = Tour::new();

    println!("{}", tour.bold("Pintle in four models"));
    println!(
        "A handler is bound to a point. The point's model says how handlers run, and what a failure does."
    );
    void(&tour).await?;
    modifying(&tour).await?;
    claiming(&tour).await?;
    gate(&tour).await?;
    println!("\nNext: `cargo run --example own_point` declares points of its own.");
    Ok(())
}

async fn void(tour: &Tour) -> Result<(), Box<dyn Error>> {
    tour.chapter(
        "Void",
        "know it happened",
        "All run at once, all are awaited. A crash is recorded, and disturbs no other handler.",
    );
    let hooks = &tour.hooks;
    hooks.named("slow-index").register_void(async |_: Event<SessionOpened>| {
        tokio::time::sleep(Duration::from_millis(20)).await;
    })?;
    hooks.named("metrics").register_void(async |e: Event<SessionOpened>| {
        assert!(e.resumed, "no counter for new sessions");
    })?;
    hooks.named("audit-log").register_void(async |_: Event<SessionOpened>| {})?;

    let fired = hooks.fire_void(&tour.cx, SessionOpened::default).await;
    tour.show("a session starts");
    tour.result(if fired.is_ok() { "the fire succeeded" } else { "the fire failed" });
    Ok(())
}

async fn modifying(tour: &Tour) -> Result<(), Box<dyn Error>> {
    tour.chapter(
        "Modifying",
        "amend it",
        "One after another, higher priority first. Per key, the first value wins.",
    );
    let hooks = &tour.hooks;
    hooks.named("weather").plugin("weather").register_modifying(
        async |_: Event<BeforePromptBuild>| {
            Some(
                PromptPatch::default()
                    .prepend_system("It rains.")
                    .append_system("Suggest an umbrella."),
            )
        },
    )?;
    hooks.named("house-style").priority(10).register_modifying(
        async |_: Event<BeforePromptBuild>| Some(PromptPatch::default().append_system("Be brief.")),
    )?;
    let prompt = || BeforePromptBuild::default().history(vec![]).system("You help.");

    let merged = hooks.fire_modifying(&tour.cx, prompt).await?;
    tour.show("a system prompt is built");
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let prompt_text =
        [text(&merged.prepend_system), "You help.".into(), text(&merged.append_system)];
    tour.result(format!("the prompt is {:?}", prompt_text.join(" ").trim()));

    let builtins = Cx::new(Envelope::default(), PluginFilter::BuiltinsOnly);
    hooks.fire_modifying(&builtins, prompt).await?;
    tour.show("again, for a personality that allows no plugins");
    Ok(())
}

async fn claiming(tour: &Tour) -> Result<(), Box<dyn Error>> {
    tour.chapter("Claiming", "decide who handles it", "One after another, until somebody claims.");
    let hooks = &tour.hooks;
    hooks.named("commands").register_claiming(async |e: Event<InboundClaim>| {
        (e.message.text == "/ping").then(|| Handled::default().reply("pong"))
    })?;
    hooks.named("night-watch").register_claiming(async |e: Event<InboundClaim>| {
        e.message.text.contains("urgent").then(|| Handled::default().reply("on my way"))
    })?;

    for text in ["/ping", "hello"] {
        let claimed = hooks.fire_claiming(&tour.cx, || inbound(text)).await?;
        tour.show(format!("{text:?} comes in"));
        match claimed {
            Some(claimed) => tour.result(format!(
                "{} owns it and replies {:?}",
                claimed.by,
                claimed.reply.as_deref().unwrap_or_default()
            )),
            None => tour.result("no handler claimed it: a run of the agent would start"),
        }
    }
    Ok(())
}

async fn gate(tour: &Tour) -> Result<(), Box<dyn Error>> {
    tour.chapter("Gate", "stop it", "One after another, until somebody blocks. A gate that crashes, hangs or talks nonsense blocks.");
    let hooks = &tour.hooks;
    hooks.named("no-prod").tools(["write_*"]).register_gate(async |e: Event<ToolPre>| {
        match e.tool_input["path"].as_str() {
            Some(path) if path.starts_with("/srv/prod") => {
                Verdict::block("production is off limits")
            }
            _ => Verdict::allow(),
        }
    })?;
    hooks.named("scanner").tools(["fetch"]).register_gate(async |e: Event<ToolPre>| {
        match e.tool_input["url"].as_str() {
            Some(_) => Verdict::allow(),
            None => panic!("a fetch without a url"),
        }
    })?;
    let patience = Duration::from_millis(50);
    hooks.named("sleepy").tools(["terminal"]).deadline(patience).register_gate(
        async |_: Event<ToolPre>| {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Verdict::allow()
        },
    )?;

    for (tool, input, story) in [
        ("read_file", json!({ "path": "notes.md" }), "no hook guards read_file"),
        ("write_file", json!({ "path": "/srv/prod/index.html" }), "a write to production"),
        ("fetch", json!({}), "a guard that crashes"),
        ("terminal", json!({ "command": "ls" }), "a guard that never answers"),
    ] {
        let call = || {
            ToolPre::default().tool_call_id("t1").tool_name(tool).tool_input(input.clone()).zone(1)
        };
        let outcome = hooks.fire_gate(&tour.cx, call).await;
        tour.show(story);
        match outcome.blocked() {
            Some(block) => tour.result(format!("{tool} does not run: {}", block.reason)),
            None => tour.result(format!("{tool} runs")),
        }
    }
    Ok(())
}

fn inbound(text: &str) -> InboundClaim {
    InboundClaim::default().message(
        InboundMessage::default()
            .id("m1")
            .platform("cli")
            .chat_id("c1")
            .sender(Sender::default().id("ada"))
            .text(text)
            .is_direct(true),
    )
}

/// Keeps the record of the last fire: every fire hands one to the registry's sink.
#[derive(Default)]
struct LastFire(Mutex<Option<Arc<FireRecord>>>);

impl RecordSink for LastFire {
    fn record(&self, record: Arc<FireRecord>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }
}

struct Tour {
    hooks: Hooks,
    last: Arc<LastFire>,
    cx: Cx,
    colours: bool,
}

impl Tour {
    fn new() -> Self {
        let last = Arc::new(LastFire::default());
        Self {
            hooks: Hooks::builder().sink(last.clone()).build(),
            last,
            cx: Cx::new(
                Envelope { platform: "cli".into(), ..Envelope::default() },
                PluginFilter::All,
            ),
            colours: std::io::stdout().is_terminal(),
        }
    }

    fn chapter(&self, model: &str, wish: &str, rule: &str) {
        println!("\n{} {wish}", self.bold(format!("{model}:")));
        println!("{}", self.paint("2", rule));
    }

    /// Prints the record of the last fire, and who was not asked.
    fn show(&self, story: impl Display) {
        let last = self.last.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(record) = last else { return };
        println!("\n  {} {}", self.bold(record.point), self.paint("2", format!("({story})")));
        for handler in &record.handlers {
            let (mark, colour) = match handler.outcome {
                HandlerOutcome::Failed(_) | HandlerOutcome::Blocked(_) => ("✘", "31"),
                HandlerOutcome::Passed => ("·", "2"),
                _ => ("✔", "32"),
            };
            let said = match &handler.outcome {
                HandlerOutcome::Failed(failure) => failure.to_string(),
                HandlerOutcome::Blocked(reason) => format!("blocked: {reason}"),
                other => other.name().to_string(),
            };
            let keys = [("won", &handler.won), ("lost", &handler.lost)]
                .into_iter()
                .filter(|(_, keys)| !keys.is_empty())
                .map(|(what, keys)| format!(", {what} {}", keys.join(" and ")))
                .collect::<String>();
            let time = format!("{:.1} ms", handler.duration.as_secs_f64() * 1e3);
            println!(
                "    {} {:<12} {said}{keys} {}",
                self.paint(colour, mark),
                handler.name,
                self.paint("2", time)
            );
        }
        for handler in self.hooks.list() {
            let asked = record.handlers.iter().any(|asked| asked.name == handler.name);
            if handler.point == record.point && !asked {
                println!("    {}", self.paint("2", format!("  {:<12} not asked", handler.name)));
            }
        }
    }

    fn result(&self, what: impl Display) {
        println!("    → {what}");
    }

    fn bold(&self, text: impl Display) -> String {
        self.paint("1", text)
    }

    fn paint(&self, code: &str, text: impl Display) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_string() }
    }
}
