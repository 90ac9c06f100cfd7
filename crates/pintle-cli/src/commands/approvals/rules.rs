//! `pintle approvals rules`: lists and revokes the rules by which calls run without a question (R11.7).

use std::path::Path;

use pintle_agent::ApprovalRule;
use pintle_agent::store::{SessionRule, Store};
use pintle_profile::{OPERATOR_FILE, WrittenRule};
use serde_json::{Value, json};

use super::listing::key_of;
use crate::{
    agents::refuse_agents,
    environment::Environment,
    out::{say, say_json, say_line, say_pretty_json, tell},
    problem::Problem,
    rules_file::{is_by_one_of, remove, rule_of, utc},
    shown::{Show, bold, cyan, dim, green, text},
    term::{Column, Glyph, Table, width, wrap},
};

/// A rule, and where it is kept.
struct Listed {
    rule: ApprovalRule,
    place: Place,
    facts: Facts,
}

enum Place {
    File(WrittenRule),
    Session(SessionRule),
}

/// A rule as the list shows it.
struct Facts {
    stands: String,
    workspace: Option<String>,
    by: Option<String>,
    since: Option<String>,
    /// Whether the person who gave the rule may still approve.
    is_valid: bool,
}

pub(super) async fn list_or_revoke(
    environment: &Environment,
    store: &dyn Store,
    revoke: Option<usize>,
) -> Result<(), Problem> {
    let rules = all(environment, store).await?;
    match revoke {
        None => list(environment, &rules),
        Some(number) => {
            refuse_agents("change the rules")?;
            let found = number.checked_sub(1).and_then(|at| rules.get(at)).ok_or_else(|| {
                Problem::not_found(format!("no rule {number}"))
                    .fix("pintle approvals rules lists them with their numbers")
            })?;
            take_back(environment, store, found).await?;
            match environment.json {
                true => say_json(&json!({ "revoked": found.to_json(number) })),
                false => {
                    let Listed { rule, facts, .. } = found;
                    say!("{} {} ({})", green("revoked"), rule.to_string(), facts.stands);
                    Ok(())
                }
            }
        }
    }
}

/// The rules of the file in its order, then the rules of running sessions.
async fn all(environment: &Environment, store: &dyn Store) -> Result<Vec<Listed>, Problem> {
    let operator = environment.operator()?;
    let approvers = &operator.approvers;
    let of_file = |written: WrittenRule| Listed {
        rule: rule_of(&written),
        facts: Facts {
            stands: format!("always, {OPERATOR_FILE}:{}", written.line),
            workspace: written.workspace.as_ref().map(|folder| folder.display().to_string()),
            by: written.by.clone(),
            since: written.since.clone(),
            is_valid: is_by_one_of(&written, approvers),
        },
        place: Place::File(written),
    };
    let mut rules: Vec<Listed> = operator.approvals.iter().cloned().map(of_file).collect();
    for kept in store.session_rules().await? {
        let facts = Facts {
            stands: format!("session {}", key_of(store, &kept.session_id).await?),
            workspace: Some(kept.workspace.display().to_string()),
            by: Some(kept.by.clone()),
            since: Some(utc(kept.since)),
            is_valid: approvers.contains(&kept.by),
        };
        rules.push(Listed { rule: kept.rule.clone(), place: Place::Session(kept), facts });
    }
    Ok(rules)
}

fn list(environment: &Environment, rules: &[Listed]) -> Result<(), Problem> {
    if environment.json {
        let rules = (1..).zip(rules).map(|(number, rule)| rule.to_json(number));
        return say_pretty_json(&rules.collect::<Vec<_>>());
    }
    if rules.is_empty() {
        say!("No standing rules.");
        return Ok(());
    }
    let mut table = Table::new([
        Column::new("RULE").right(),
        Column::new("ALLOWS").loses_middle(),
        Column::new("UP TO"),
        Column::new("WHERE").loses_middle().below(),
        Column::new("UNTIL").below(),
        Column::new("BY").below(),
    ]);
    for (number, Listed { rule, place, facts }) in (1_usize..).zip(rules) {
        let folder = facts.workspace.as_ref().map(|folder| environment.short(Path::new(folder)));
        let until = match place {
            Place::File(_) => "always",
            Place::Session(_) => "pintle ends",
        };
        table.row([
            cyan(number),
            bold(rule.to_string()),
            rule.zone.name().shown(),
            folder.unwrap_or_else(|| "everywhere".to_owned()).shown(),
            until.shown(),
            facts.by.clone().unwrap_or_default().shown(),
        ]);
    }
    table.lines(width()).iter().for_each(say_line);
    for (number, Listed { facts, .. }) in
        (1_usize..).zip(rules).filter(|(_, it)| !it.facts.is_valid)
    {
        let by = facts.by.clone().unwrap_or_default();
        let line = text!(
            "{} rule {} does not hold: `{}` is not an approver any more",
            Glyph::Warning,
            number,
            by
        );
        say!("{}", wrap(&line, width(), 2));
    }
    if environment.stdout_is_terminal {
        let last = rules.len();
        let at = rules.last().map(|it| it.facts.stands.clone()).unwrap_or_default();
        let how = text!("pintle approvals rules --revoke {} · rule {}: {}", last, last, at);
        tell!("{}", dim(wrap(&how, width(), 2)));
    }
    Ok(())
}

async fn take_back(
    environment: &Environment,
    store: &dyn Store,
    listed: &Listed,
) -> Result<(), Problem> {
    match &listed.place {
        Place::File(written) => {
            let file = environment.operator_file();
            remove(&file.ok_or_else(|| Problem::new("there is no data folder"))?, written)
        }
        Place::Session(kept) => match store.revoke_rule(kept.number).await? {
            true => Ok(()),
            false => Err(Problem::new("the rule is already removed")),
        },
    }
}

impl Listed {
    fn to_json(&self, number: usize) -> Value {
        let Self { rule, place, facts } = self;
        let (scope, place) = match place {
            Place::File(written) => ("always", format!("{OPERATOR_FILE}:{}", written.line)),
            Place::Session(kept) => ("session", kept.session_id.clone()),
        };
        json!({
            "number": number, "tool": rule.tool, "allow": rule.allow, "zone": rule.zone,
            "scope": scope, "place": place, "workspace": facts.workspace, "by": facts.by,
            "since": facts.since, "stands": facts.is_valid,
        })
    }
}
