//! What the operator allows: the floor under every profile (R10.8, R11.3).

mod approvals;
mod consumers;
mod file;
mod records;
mod sandbox;

pub use approvals::WrittenRule;
pub use consumers::{Consumer, ConsumerSettings, LoopBudgetSettings, SkillQueueSettings};
pub use file::{OPERATOR_FILE, OperatorFile, operator_schema};
pub use records::RecordSettings;
pub use sandbox::{SandboxMode, SandboxNetwork, SandboxOfServer, SandboxSettings};

use crate::document::{Field, Node};
use crate::report::{Problem, place};
use crate::webhook::{WebhookAllowlist, allowlist_entry, is_this_machine};
use crate::{AGENT_FILE, Limits, Profile, ProfileErrors, Uses, Warning, Written};
use pintle::similar::nearest;
use pintle_policy::{Level, ToolSpec, Zone};
use serde::de::DeserializeOwned;
use std::ops::{Deref, Range};
use url::Url;

/// The values of the operator's environment variables, read by the program and passed in.
#[derive(Debug, Clone, Copy, Default)]
pub struct OperatorEnv<'a> {
    /// `PINTLE_ALLOW_COMMAND_HOOKS`: `1` or `0`.
    pub allow_command_hooks: Option<&'a str>,
    /// `PINTLE_DISABLE_HOOKS`: `1` or `0`.
    pub disable_hooks: Option<&'a str>,
    /// `PINTLE_WEBHOOK_ALLOWLIST`: URLs, separated by commas or blanks; added to those of the file.
    pub webhook_allowlist: Option<&'a str>,
    /// The built-in tools, to check approval rules by; without any, rules are not held against tools.
    pub tools: &'a [ToolSpec],
}

/// What the operator allows: the settings of pintle.toml, found right. A profile can only have less.
#[derive(Debug, Clone)]
pub struct Operator {
    settings: OperatorFile,
    /// Where webhooks may go. An empty list leaves this machine.
    pub webhooks: WebhookAllowlist,
    /// Who may answer approvals: at least one. Without a list in the file it is `operator` alone.
    pub approvers: Vec<String>,
    /// The longest an approval may wait, in milliseconds: half an hour unless the file says otherwise.
    pub approval_timeout_ms: u64,
    /// The most a run may take; what is left out is the profile's to say.
    pub limits: Limits,
    /// The file, for saying where in it something is written.
    document: Node,
    source: String,
}

/// For reading alone: what was checked stays as it was.
impl Deref for Operator {
    type Target = OperatorFile;

    fn deref(&self) -> &OperatorFile {
        &self.settings
    }
}

/// What holds for a profile once the operator has had their say.
#[derive(Debug, Clone, PartialEq)]
pub struct Effective {
    /// The level.
    pub level: Level,
    /// The people who may answer approvals; no one else may.
    pub approvers: Vec<String>,
    /// How long an approval waits, in milliseconds.
    pub approval_timeout_ms: u64,
    /// Limits that end a run.
    pub limits: Limits,
}

/// Who answers when no one is named: the user who runs the program.
const OPERATOR: &str = "operator";
const HALF_AN_HOUR_MS: u64 = 30 * 60 * 1000;

impl Operator {
    /// Reads the text of `pintle.toml` (empty if there is none) and the environment's values. The environment wins.
    ///
    /// # Errors
    /// With everything in either that cannot be understood, at once. The program must not start with half of it.
    pub fn new(file: &str, env: OperatorEnv<'_>) -> Result<Self, ProfileErrors> {
        let mut errors = ProfileErrors::default();
        let (mut settings, document, problems) = file::read(file, env.tools);
        errors.add(OPERATOR_FILE, file, problems);
        let allow_command_hooks =
            switch("PINTLE_ALLOW_COMMAND_HOOKS", env.allow_command_hooks, &mut errors);
        let disable_hooks = switch("PINTLE_DISABLE_HOOKS", env.disable_hooks, &mut errors);
        let from_env = listed(env.webhook_allowlist.unwrap_or_default(), &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let entries = settings.webhook_allowlist.iter().map(String::as_str).chain(from_env);
        let webhooks = WebhookAllowlist::new(entries).map_err(|why| {
            errors.add(OPERATOR_FILE, file, vec![Problem::new(0..0, why)]);
            errors
        })?;
        settings.allow_command_hooks = allow_command_hooks.unwrap_or(settings.allow_command_hooks);
        settings.disable_hooks = disable_hooks.unwrap_or(settings.disable_hooks);
        approvals::place_all(&mut settings.approvals, &document, file);
        Ok(Self {
            webhooks,
            approvers: settings.approvers.take().unwrap_or_else(|| vec![OPERATOR.to_owned()]),
            approval_timeout_ms: settings.approval_timeout_ms.unwrap_or(HALF_AN_HOUR_MS),
            limits: Limits {
                max_turns: settings.max_turns,
                max_cost_usd: settings.max_cost_usd,
                max_seconds: settings.max_seconds,
                context_tokens: None,
            },
            settings,
            document,
            source: file.to_owned(),
        })
    }

    /// Where a setting is written, like `pintle.toml:3`; `None` when it is left out.
    #[must_use]
    pub fn written(&self, setting: &str) -> Option<String> {
        let (line, _) = place(&self.source, self.document.get(setting)?.span.start);
        Some(format!("{OPERATOR_FILE}:{line}"))
    }

    /// Where in a list this name is written, to the column.
    fn named_at(&self, list: &str, name: &str) -> String {
        let items = self.document.list(list);
        match items.iter().find(|item| item.text() == Some(name)) {
            Some(item) => {
                let (line, column) = place(&self.source, item.span.start);
                format!("{OPERATOR_FILE}:{line}:{column}")
            }
            None => OPERATOR_FILE.to_owned(),
        }
    }

    /// Each variable in `secrets` that is not set: nothing is kept secret by its name. `is_set` knows of each.
    #[must_use]
    pub fn unset_secrets(&self, is_set: impl Fn(&str) -> bool) -> Vec<Warning> {
        let told = |name: &String| Warning {
            source: self.named_at("secrets", name),
            message: format!(
                "`{name}` in `secrets` is not set here, so there is no value to keep secret: is it spelled like that?"
            ),
        };
        self.secrets.iter().filter(|name| !is_set(name)).map(told).collect()
    }

    /// Of some approvers, those that are not users of this machine, with where each is named and whom it may mean. `users` are
    /// the machine's, as far as they can be listed; `is_user` knows of each.
    #[must_use]
    pub fn strangers(
        &self,
        approvers: &[String],
        users: &[String],
        is_user: impl Fn(&str) -> bool,
    ) -> Vec<Warning> {
        let stranger = |who: &&String| who.as_str() != OPERATOR && !is_user(who);
        let told = |who: &String| {
            let valid = users.iter().map(String::as_str).chain([OPERATOR]);
            let meant = match nearest(who, valid) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("name a user of it, or `{OPERATOR}` for the user who runs pintle"),
            };
            let source = self.named_at("approvers", who);
            let message = format!(
                "`{who}` in `approvers` is not a user of this machine, so no one can answer under that name; {meant}"
            );
            Warning { source, message }
        };
        approvers.iter().filter(stranger).map(told).collect()
    }

    /// Whether a profile may send to this URL: it is on the list. Where there is no list, this machine is all there is.
    #[must_use]
    pub fn allows_webhook(&self, url: &Url) -> bool {
        match self.webhooks.is_empty() {
            true => is_this_machine(url),
            false => self.webhooks.allows(url),
        }
    }

    /// What holds for this profile.
    ///
    /// # Errors
    /// With every place where the profile asks for more than the operator allows.
    pub fn judge(&self, profile: &Profile) -> Result<Effective, ProfileErrors> {
        let uses = profile.hooks.iter().map(|hook| &hook.uses);
        self.unless(self.asks_too_much(&profile.document, uses), profile)
    }

    /// Every place where agent.json, right or wrong, asks for more than the operator allows.
    pub(crate) fn asks_too_much<'u>(
        &self,
        file: &Node,
        uses: impl Iterator<Item = &'u Uses>,
    ) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.judge_level(file).into_iter().collect();
        problems.extend(self.judge_approvers(file));
        problems.extend(self.judge_timeout(file));
        problems.extend(self.judge_limits(file));
        problems.extend(self.judge_reach(file, uses));
        problems
    }

    /// What holds for a profile that is in force already, when the operator tightens meanwhile: no more than the operator
    /// allows now, whatever the profile asks for.
    ///
    /// # Errors
    /// When that is not a matter of less: it runs programs or sends to places that are no longer allowed, or no one
    /// is left to answer its questions. It must not go on then.
    pub fn hold(&self, profile: &Profile) -> Result<Effective, ProfileErrors> {
        let mut problems = Vec::new();
        if self.approvers_of(profile).is_empty() {
            problems.extend(self.judge_approvers(&profile.document));
        }
        let uses = profile.hooks.iter().map(|hook| &hook.uses);
        problems.extend(self.judge_reach(&profile.document, uses));
        self.unless(problems, profile)
    }

    fn unless(
        &self,
        problems: Vec<Problem>,
        profile: &Profile,
    ) -> Result<Effective, ProfileErrors> {
        if problems.is_empty() {
            return Ok(self.effective(profile));
        }
        let mut errors = ProfileErrors::default();
        errors.add(AGENT_FILE, &profile.source, problems);
        Err(errors)
    }

    /// The stricter of what the profile says and what the operator does.
    fn effective(&self, profile: &Profile) -> Effective {
        let (own, most) = (profile.limits, self.limits);
        let most_ms = self.approval_timeout_ms;
        Effective {
            level: profile.security.level.map_or(self.level, |level| level.max(self.level)),
            approvers: self.approvers_of(profile),
            approval_timeout_ms: profile
                .security
                .approval_timeout_ms
                .map_or(most_ms, |own| own.min(most_ms)),
            limits: Limits {
                max_turns: least(own.max_turns, most.max_turns),
                max_cost_usd: least(own.max_cost_usd, most.max_cost_usd),
                max_seconds: least(own.max_seconds, most.max_seconds),
                context_tokens: own.context_tokens,
            },
        }
    }

    /// Those of the operator's that the profile leaves.
    fn approvers_of(&self, profile: &Profile) -> Vec<String> {
        let mut approvers = self.approvers.clone();
        if let Some(named) = &profile.security.approvers {
            approvers.retain(|who| named.contains(who));
        }
        approvers
    }

    /// What the profile runs, and where it sends.
    fn judge_reach<'u>(&self, file: &Node, uses: impl Iterator<Item = &'u Uses>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for Uses { program, zone, url, .. } in uses {
            let wider = zone.as_ref().filter(|zone| zone.value > Zone::Build);
            problems.extend(
                program.as_ref().and_then(|it| self.judge_program(&it.span, "a command hook")),
            );
            problems.extend(wider.and_then(|zone| self.judge_width(&zone.span)));
            problems.extend(url.as_ref().and_then(|url| self.judge_url(url, "webhooks")));
        }
        let addresses = crate::channels::addresses(file);
        problems.extend(addresses.iter().filter_map(|url| self.judge_url(url, "channels")));
        for Field { value: server, .. } in file.table("mcpServers") {
            let program = server.get("command");
            let wider = server.get("zone").filter(|it| it.text() == Some("machine"));
            problems
                .extend(program.and_then(|it| self.judge_program(&it.span, "a program to start")));
            problems.extend(wider.and_then(|zone| self.judge_width(&zone.span)));
        }
        problems
    }

    fn judge_level(&self, file: &Node) -> Option<Problem> {
        let (level, node) = asked::<Level>(file, "security", "level")?;
        let (name, floor) = (level.name(), self.level.name());
        let message = format!("the level `{name}` is looser than the operator's `{floor}`");
        let help = format!("write `{floor}` or a stricter one, or leave it out");
        let allow = format!("to allow it, the operator writes `level = \"{name}\"` in pintle.toml");
        (level < self.level).then(|| too_much(node, message, help).help(allow))
    }

    fn judge_approvers(&self, file: &Node) -> Vec<Problem> {
        // A profile that names who may say yes for it would approve itself.
        let named = file.get("security").map(|it| it.list("approvers")).unwrap_or_default();
        let stranger = |node: &Node| {
            let who = node.text().filter(|who| self.approvers.iter().all(|it| it != who))?;
            let message = format!("`{who}` is not among the operator's approvers");
            let help = "remove the name, or let the operator add it to `approvers` in pintle.toml";
            Some(too_much(node, message, help))
        };
        named.iter().filter_map(stranger).collect()
    }

    fn judge_timeout(&self, file: &Node) -> Option<Problem> {
        let (wanted, node) = asked::<u64>(file, "security", "approvalTimeoutMs")?;
        let most = self.approval_timeout_ms;
        let message = format!("approvals would wait longer than the operator's {most} ms");
        let help =
            format!("write {most} or less; the operator sets `approval_timeout_ms` in pintle.toml");
        (wanted > most).then(|| too_much(node, message, help))
    }

    fn judge_limits(&self, file: &Node) -> impl Iterator<Item = Problem> {
        let most = self.limits;
        #[allow(clippy::cast_precision_loss, reason = "seconds beyond 2^53 do not come to pass")]
        let seconds = most.max_seconds.map(|seconds| seconds as f64);
        let rows = [
            ("maxTurns", "max_turns", most.max_turns.map(f64::from)),
            ("maxCostUsd", "max_cost_usd", most.max_cost_usd),
            ("maxSeconds", "max_seconds", seconds),
        ];
        rows.into_iter().filter_map(|(field, setting, most)| {
            let ((wanted, node), most) = asked::<f64>(file, "limits", field).zip(most)?;
            let message = format!("`{field}` is more than the operator's {most}");
            let help =
                format!("write {most} or less; the operator sets `{setting}` in pintle.toml");
            (wanted > most).then(|| too_much(node, message, help))
        })
    }

    /// A hook or a server asks for more than the default sandbox gives.
    fn judge_width(&self, span: &Range<usize>) -> Option<Problem> {
        let message = "the operator has not allowed a wider sandbox";
        let allow = "to allow it, the operator writes `allow_wider_hooks = true` under `[sandbox]` in pintle.toml";
        let label = "wider than the default";
        let problem = || Problem::at(span.clone(), message, label, "remove the field").help(allow);
        (self.sandbox.allow_wider_hooks == Some(false)).then(problem)
    }

    fn judge_program(&self, span: &Range<usize>, what: &str) -> Option<Problem> {
        let message = "this profile runs programs, which is off by default";
        let help = "read what it runs; if you trust it, set PINTLE_ALLOW_COMMAND_HOOKS=1, or `allow_command_hooks = true` in pintle.toml";
        (!self.allow_command_hooks).then(|| Problem::at(span.clone(), message, what, help))
    }

    fn judge_url(&self, written: &Written<String>, what: &str) -> Option<Problem> {
        let url = Url::parse(&written.value).ok().filter(|url| !self.allows_webhook(url))?;
        let message = format!("the operator has not allowed {what} to this place");
        let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
        let help = format!(
            "to allow it, add {place} to PINTLE_WEBHOOK_ALLOWLIST, or to `webhook_allowlist` in pintle.toml"
        );
        Some(Problem::at(written.span.clone(), message, "not on the allowlist", help))
    }
}

fn too_much(node: &Node, message: String, help: impl Into<String>) -> Problem {
    Problem::at(node.span.clone(), message, "a profile can only tighten", help)
}

/// What agent.json asks for in a field of a part, and where.
fn asked<'f, T: DeserializeOwned>(
    file: &'f Node,
    part: &str,
    field: &str,
) -> Option<(T, &'f Node)> {
    let node = file.get(part)?.get(field)?;
    Some((serde_json::from_value(node.to_json()).ok()?, node))
}

/// The smaller one; of one that is not there, the other.
fn least<T: PartialOrd>(own: Option<T>, most: Option<T>) -> Option<T> {
    match (own, most) {
        (Some(own), Some(most)) => Some(if own <= most { own } else { most }),
        (own, most) => own.or(most),
    }
}

/// What a variable switches, if it is set; what is wrong with it goes to `errors`.
fn switch(name: &str, value: Option<&str>, errors: &mut ProfileErrors) -> Option<bool> {
    let value = value.unwrap_or_default();
    match value {
        "" => None,
        "1" => Some(true),
        "0" => Some(false),
        other => {
            let problem = Problem::new(0..value.len(), format!("{name} is `{other}`"));
            let problem = problem.label("expected 1 or 0").help("write 1 for on or 0 for off");
            errors.add(name, value, vec![problem]);
            None
        }
    }
}

/// The entries of the list in the environment.
fn listed<'v>(value: &'v str, errors: &mut ProfileErrors) -> Vec<&'v str> {
    let mut problems = Vec::new();
    let mut entries = Vec::new();
    let mut start = 0_usize;
    for entry in value.split([',', ' ', '\n', '\t']) {
        let span = start..start.saturating_add(entry.len());
        start = span.end.saturating_add(1);
        match allowlist_entry(entry) {
            _ if entry.is_empty() => {}
            Ok(_) => entries.push(entry),
            Err(why) => problems.push(file::bad_entry(span, why)),
        }
    }
    errors.add("PINTLE_WEBHOOK_ALLOWLIST", value, problems);
    entries
}
