//! `pintle explain`: shows what would happen to a call, and which steps decide.

use std::process::ExitCode;

use glob::Pattern;
use pintle::points::Untrusted;
use pintle_agent::{CallVerdict, Finding, JudgedStep};
use pintle_profile::typed_word;
use serde_json::{Value, json};

use crate::{
    args::{Explain, Who},
    assembly::{AgentOptions, Assembled},
    environment::Environment,
    out::{say, say_json},
    problem::Problem,
    shown::{Shown, bold, cyan, dim, text},
    store,
    term::{Glyph, width, wrap},
};

/// The column of a step's text.
const INDENT: usize = 12;

fn exit_code(verdict: CallVerdict) -> u8 {
    match verdict {
        CallVerdict::Run => 0,
        CallVerdict::Ask => 3,
        CallVerdict::Refuse => 4,
    }
}

pub(crate) async fn run(environment: &Environment, explain: Explain) -> Result<ExitCode, Problem> {
    let (tool, args) = call(&explain)?;
    let who = &explain.who;
    // Nothing is stored, and the rules that can apply are in pintle.toml.
    let extras = AgentOptions { store: Some(store::in_memory()), ..AgentOptions::mute() };
    let assembled = Assembled::new(environment, who, extras).await?;
    let personality = who.personality.as_deref();
    let untrusted = explain.untrusted.then(|| Untrusted::default().from("--untrusted"));
    let agent = &assembled.agent;
    let explained = agent.explain(personality, &tool, args, !explain.no_hooks, untrusted).await;
    assembled.held.warn();
    let steps =
        explained.map(|steps| completed(&assembled, who, &tool, watched(&assembled, steps)));
    let in_force = who.found.in_force(environment, assembled.profile.as_ref());
    let rules = assembled
        .profile
        .as_ref()
        .map(|it| json!({ "name": it.name, "dir": it.dir, "found": who.found.words() }));
    assembled.close().await;
    let steps = steps?;
    let verdict = CallVerdict::of(&steps);
    if environment.json {
        say_json(&json!({ "profile": rules, "steps": steps, "verdict": verdict.name() }))?;
        return Ok(exit_code(verdict).into());
    }
    row(text!(" "), "profile", &text!("{}", in_force));
    if explain.no_hooks {
        row(text!("{}", Glyph::Warning), "hooks", &text!("left out (--no-hooks)"));
    }
    print(environment, &steps);
    let (stops, rule) = (verdict == CallVerdict::Refuse, steps.iter().find(|it| it.step == "rule"));
    match rule.filter(|_| !stops) {
        Some(rule) => {
            let offer = text!("`a` in the question would allow every `{}`", rule.detail);
            let line = text!("{} {}   {}", Glyph::Next, bold(verdict.name()), dim(offer));
            say!("{}", wrap(&line, width(), 2));
        }
        None => say!("{} {}", Glyph::Next, bold(verdict.name())),
    }
    Ok(exit_code(verdict).into())
}

/// The tool and its arguments: as given, or the terminal's for a command.
fn call(explain: &Explain) -> Result<(String, Value), Problem> {
    if let (Some(tool), Some(args)) = (&explain.tool, &explain.args) {
        let args = serde_json::from_str(args).map_err(|error| {
            Problem::usage("`--args` is not JSON")
                .cause(error)
                .fix(format!("--tool {tool} --args '{{\"path\": \"a.txt\"}}'"))
        })?;
        return Ok((tool.clone(), args));
    }
    // One word is a line as a shell reads it; several are the words of one command.
    let line = match explain.command.as_slice() {
        [line] => line.clone(),
        words => words.iter().map(|word| typed_word(word)).collect::<Vec<_>>().join(" "),
    };
    if line.trim().is_empty() {
        return Err(Problem::usage("there is no command to explain").fix("pintle explain -- ls"));
    }
    Ok(("terminal".to_owned(), json!({ "command": line })))
}

/// Prints each step with its effect on the call. All hooks that allow share one row.
fn print(environment: &Environment, steps: &[JudgedStep]) {
    let mut allowed = Vec::new();
    for JudgedStep { step, finding, detail, source, shadow, .. } in steps {
        let is_hook = step.contains("tool");
        let quiet = matches!(*step, "known tool" | "toolset" | "rule");
        match finding {
            // The step that asks has its own row, and an approval that is not needed has none.
            _ if *step == "approval" && !detail.starts_with("covered") => continue,
            Finding::Passes if *step == "rule" || (quiet && environment.verbose == 0) => continue,
            Finding::Passes if is_hook && !quiet && detail.contains("` allowed (") => {
                allowed.push(detail.replacen("` allowed (", " ", 1).replace(['`', ')'], ""));
                continue;
            }
            _ => {}
        }
        print_allowed(&mut allowed);
        let glyph = match finding {
            _ if *shadow => Glyph::Warning,
            Finding::Passes => Glyph::Ok,
            Finding::Asks if *step == "sandbox" => Glyph::Warning,
            Finding::Asks => Glyph::Ask,
            Finding::Stops => Glyph::Blocked,
        };
        // A guard's refusal says where it is written: that is for the model too.
        let source = source.as_deref().filter(|it| !detail.contains(it) && it.contains(':'));
        let source = source.map_or(Shown::default(), |at| text!(" {}", dim(text!("({})", at))));
        let name = match *step {
            "tool.pre" | "before_tool_call" => "hooks",
            "approval" => "rule",
            "known tool" => "tool",
            step => step,
        };
        let brief = if environment.verbose == 0 { brief(step, detail) } else { detail.clone() };
        row(text!("{}", glyph), name, &text!("{}{}", brief, source));
    }
    print_allowed(&mut allowed);
}

/// The rights to write and to reach; the list of readable paths is long.
fn brief(step: &str, detail: &str) -> String {
    match detail.split_once(": ").filter(|_| step == "sandbox") {
        Some((tier, rights)) if rights.contains("; ") => {
            let rights = rights.split("; ").filter(|right| !right.starts_with("reads "));
            let rights: Vec<&str> = rights.collect();
            format!("{tier} · {} · -v shows more", rights.join(" · "))
        }
        _ => detail.to_owned(),
    }
}

fn print_allowed(allowed: &mut Vec<String>) {
    if !allowed.is_empty() {
        let said = text!("{}: allowed", std::mem::take(allowed).join(", "));
        row(text!("{}", Glyph::Ok), "hooks", &said);
    }
}

fn row(glyph: Shown, name: &str, said: &Shown) {
    say!("{}", wrap(&text!("{} {} {}", glyph, cyan(text!("{:<9}", name)), said), width(), INDENT));
}

/// Observers are listed in their place. They have not run: there was no event to observe.
fn watched(assembled: &Assembled, mut steps: Vec<JudgedStep>) -> Vec<JudgedStep> {
    let hooks = assembled.profile.iter().flat_map(|profile| &profile.hooks);
    for hook in hooks.filter(|hook| hook.observes) {
        let its = |step: &&mut JudgedStep| step.hook.as_deref() == Some(&*hook.name);
        for step in steps.iter_mut().filter(its) {
            step.detail = format!("`{}` would watch: {}", hook.name, hook.action);
        }
    }
    steps
}

/// Adds facts that the judge does not have: the place of the tool selection, and the existing tools.
fn completed(
    assembled: &Assembled,
    who: &Who,
    tool: &str,
    mut steps: Vec<JudgedStep>,
) -> Vec<JudgedStep> {
    let there: Vec<&str> = assembled.agent.tool_names().collect();
    for step in &mut steps {
        match step.step {
            "toolset" => step.source = toolset_written(assembled, who, tool),
            "known tool" if !there.contains(&tool) => {
                step.detail = format!("{} (the tools are {})", step.detail, there.join(", "));
            }
            _ => {}
        }
    }
    steps
}

/// The selection that refuses the tool, or the narrowest one that offers it.
fn toolset_written(assembled: &Assembled, who: &Who, tool: &str) -> Option<String> {
    let profile = assembled.profile.as_ref()?;
    let fits = |globs: &[String]| {
        globs.iter().any(|glob| Pattern::new(glob).is_ok_and(|glob| glob.matches(tool)))
    };
    let selection = &profile.tools;
    let allow = || profile.written(&["tools", "allow"]);
    if selection.allow.as_deref().is_some_and(|globs| !fits(globs)) {
        return allow();
    }
    if fits(&selection.deny) {
        return profile.written(&["tools", "deny"]);
    }
    let default = assembled.agent.personalities().default_id();
    profile.tools_written(who.personality.as_deref().unwrap_or(default)).or_else(allow)
}
