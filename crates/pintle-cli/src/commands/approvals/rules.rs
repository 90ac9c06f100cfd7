//! `pintle approvals rules`: what runs without a question, and taking it back (R11.7).

use pintle_agent::ApprovalRule;
use pintle_profile::{OPERATOR_FILE, WrittenRule};
use pintle_store::{SessionRule, SqliteStore};
use serde_json::{Value, json};

use super::listing::key_of;
use crate::{
    agents::refuse_agents,
    environment::Environment,
    out::{say, say_json, say_pretty_json, tell},
    problem::Problem,
    rules_file::{is_by_one_of, remove, rule_of, utc},
    shown::{bold, cyan, dim, green, text, yellow},
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

/// What the list shows of a rule.
struct Facts {
    stands: String,
    workspace: Option<String>,
    by: Option<String>,
    since: Option<String>,
    /// Whether the one who gave it may still approve.
    is_valid: bool,
}

pub(super) async fn list_or_revoke(
    environment: &Environment,
    store: &SqliteStore,
    revoke: Option<usize>,
) -> Result<(), Problem> {
    let rules = all(environment, store).await?;
    match revoke {
        None => list(environment, &rules),
        Some(number) => {
            refuse_agents("changes the rules")?;
            let found = number.checked_sub(1).and_then(|at| rules.get(at)).ok_or_else(|| {
                Problem::new(format!("there is no rule {number}"))
                    .hint("`pintle approvals rules` lists them with their numbers")
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

/// Those of the file in its order, then those of the sessions that run.
async fn all(environment: &Environment, store: &SqliteStore) -> Result<Vec<Listed>, Problem> {
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
        say!("there are no rules: each call that needs a yes is asked about");
        tell!("{}", dim("`s` and `a` at a question make one, where it offers one"));
    }
    for (number, Listed { rule, facts, .. }) in (1_usize..).zip(rules) {
        say!("{:>3}  {}", cyan(number.to_string()), bold(rule.to_string()));
        let zone = rule.zone.name();
        let mut about = text!("{} · up to zone {} · {}", rule.tool, zone, facts.stands);
        let rest = [("in", &facts.workspace), ("by", &facts.by), ("since", &facts.since)];
        for (word, fact) in rest {
            if let Some(fact) = fact {
                about = text!("{} · {} {}", about, word, fact);
            }
        }
        say!("     {}", dim(about));
        if !facts.is_valid {
            say!("     {}", yellow("it does not stand: the one who gave it is not an approver"));
        }
    }
    Ok(())
}

async fn take_back(
    environment: &Environment,
    store: &SqliteStore,
    listed: &Listed,
) -> Result<(), Problem> {
    match &listed.place {
        Place::File(written) => {
            let file = environment.operator_file();
            remove(&file.ok_or_else(|| Problem::new("the data folder is missing"))?, written)
        }
        Place::Session(kept) => match store.revoke_rule(kept.number).await? {
            true => Ok(()),
            false => Err(Problem::new("it is gone already")),
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
