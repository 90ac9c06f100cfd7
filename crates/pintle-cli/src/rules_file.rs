//! The rules of pintle.toml: what runs without a question, until it is revoked (R11.7).

use std::{
    fs::{self, File},
    io::{ErrorKind::NotFound, Write},
    path::{Path, PathBuf},
};

use pintle_agent::{ApprovalRule, StandingRule};
use pintle_profile::{OPERATOR_FILE, Operator, OperatorEnv, ProfileErrors, WrittenRule};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::{problem::Problem, profile::built_in_tools};

/// The calls that a rule of the file covers.
pub(crate) fn rule_of(written: &WrittenRule) -> ApprovalRule {
    let WrittenRule { tool, allow, zone, .. } = written.clone();
    let spec = built_in_tools().into_iter().find(|it| it.name == tool);
    ApprovalRule { tool, allow, kind: spec.and_then(|it| it.rule_kind()), zone }
}

/// Whether the person who gave the rule may still approve. Rules that the operator wrote have no name.
pub(crate) fn is_by_one_of(written: &WrittenRule, approvers: &[String]) -> bool {
    written.by.as_ref().is_none_or(|by| approvers.contains(by))
}

/// The rules that apply in this folder. A file that cannot be read has none, so a person is asked.
pub(crate) fn standing(file: &Path, workspace: &Path, approvers: &[String]) -> Vec<StandingRule> {
    let is_here = |it: &WrittenRule| it.workspace.as_ref().is_none_or(|here| here == workspace);
    let stands = |it: &&WrittenRule| is_here(it) && is_by_one_of(it, approvers);
    let standing = |it: &WrittenRule| StandingRule {
        rule: rule_of(it),
        written: Some(format!("{OPERATOR_FILE}:{}", it.line)),
    };
    let text = fs::read_to_string(file).unwrap_or_default();
    rules_in(&text).iter().filter(stands).map(standing).collect()
}

fn rules_in(text: &str) -> Vec<WrittenRule> {
    read(text).map(|it| it.approvals.clone()).unwrap_or_default()
}

fn read(text: &str) -> Result<Operator, ProfileErrors> {
    Operator::new(text, OperatorEnv { tools: &built_in_tools(), ..OperatorEnv::default() })
}

/// The file without its rules: a new or removed rule needs no new agent.
pub(crate) fn without_rules(text: &str) -> String {
    let mut rest = text.to_owned();
    for rule in rules_in(text).iter().rev() {
        rest.replace_range(rule.span.clone(), "");
    }
    rest.trim_end().to_owned()
}

/// Adds a rule at the end of the file; everything else in it stays as it is.
pub(crate) fn add(
    file: &Path,
    rule: &ApprovalRule,
    workspace: &Path,
    by: &str,
    at: u64,
) -> Result<(), Problem> {
    let is_same = |it: &WrittenRule| {
        rule_of(it) == *rule
            && it.workspace.as_deref() == Some(workspace)
            && it.by.as_deref() == Some(by)
    };
    edit(file, |text| {
        if rules_in(text).iter().any(is_same) {
            return Ok(text.to_owned());
        }
        let folder = workspace.to_str();
        let folder = folder.ok_or_else(|| {
            Problem::new("the folder's name is not Unicode, so no rule can name it")
        })?;
        let zone = rule.zone.name();
        let mut table = format!("[[approvals]]\ntool = {}\n", json!(rule.tool));
        table.extend(rule.allow.iter().map(|allow| format!("allow = {}\n", json!(allow))));
        table.push_str(&format!("zone = {}\nworkspace = {}\n", json!(zone), json!(folder)));
        table.push_str(&format!("by = {}\nsince = {}\n", json!(by), utc(at)));
        let gap = match text {
            "" => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        Ok(format!("{text}{gap}{table}"))
    })
}

/// Takes a rule out of the file.
pub(crate) fn remove(file: &Path, rule: &WrittenRule) -> Result<(), Problem> {
    edit(file, |text| {
        if !rules_in(text).contains(rule) {
            let changed = format!("{OPERATOR_FILE} has just changed; no rule was removed");
            return Err(Problem::new(changed).fix("pintle approvals rules lists them again"));
        }
        if rule.span.is_empty() {
            let line = rule.line;
            return Err(Problem::new(format!(
                "cannot remove a rule that is written in a list, at {OPERATOR_FILE}:{line}"
            ))
            .fix("remove it by hand, or write `[[approvals]]` for each rule"));
        }
        let mut text = text.to_owned();
        text.replace_range(rule.span.clone(), "");
        Ok(text)
    })
}

/// Replaces the file in one step, and only by a file that loads. The folder is locked, so only one program changes it at a
/// time.
fn edit(file: &Path, change: impl FnOnce(&str) -> Result<String, Problem>) -> Result<(), Problem> {
    // Where it is a link, the file behind it changes.
    let file: PathBuf = fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let cannot =
        |error: std::io::Error| Problem::io(format!("cannot change {}", file.display()), &error);
    let folder = file.parent().unwrap_or(Path::new("."));
    let lock = File::open(folder).map_err(cannot)?;
    lock.lock().map_err(cannot)?;
    let text = match fs::read_to_string(&file) {
        Err(error) if error.kind() == NotFound => String::new(),
        read => read.map_err(cannot)?,
    };
    let changed = change(&text)?;
    if let Err(errors) = read(&changed) {
        let problem =
            Problem::new(format!("{OPERATOR_FILE} would have mistakes, so it was not changed"));
        return Err(problem.drawn(&errors));
    }
    let mut fresh = NamedTempFile::new_in(folder).map_err(cannot)?;
    fresh.write_all(changed.as_bytes()).map_err(cannot)?;
    if let Ok(old) = fs::metadata(&file) {
        fresh.as_file().set_permissions(old.permissions()).map_err(cannot)?;
    }
    fresh.as_file().sync_all().map_err(cannot)?;
    fresh.persist(&file).map(drop).map_err(|error| cannot(error.error))
}

/// A moment as TOML writes it.
pub(crate) fn utc(ms: u64) -> String {
    let seconds = ms / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Counted from 1 March of the year 0, in spans of 400 years: the day that is added in a leap year comes last.
    let (era, day) = ((days + 719_468) / 146_097, (days + 719_468) % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, turn) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let (year, hour) = (year + era * 400 + turn, rest / 3600);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{:02}:{:02}Z", rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_policy::{GuardKind, Zone};

    const MINE: &str = "# Mine, do not touch.\nlevel = \"strict\" # really\n";

    fn rule(allow: &str) -> ApprovalRule {
        let (tool, allow, kind) = ("terminal".into(), Some(allow.into()), Some(GuardKind::Shell));
        ApprovalRule { tool, allow, kind, zone: Zone::Network }
    }

    #[test]
    fn a_moment_is_written_in_utc() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_868_800_000), "2000-03-01T00:00:00Z");
        assert_eq!(utc(1_763_418_005_000), "2025-11-17T22:20:05Z");
    }

    // R11.7
    #[test]
    fn a_rule_comes_and_goes_and_the_rest_of_the_file_stays_to_the_byte() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OPERATOR_FILE);
        let here = Path::new("/home/ann/a \"project\"");
        for before in ["", MINE, "level = \"strict\"", "[hook_env]\nTEAM = \"red\"\n\n\n"] {
            fs::write(&file, before).unwrap();
            add(&file, &rule("git push *"), here, "ann", 0).unwrap();
            add(&file, &rule("make *"), here, "ann", 0).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.starts_with(before), "{text}");
            add(&file, &rule("make *"), here, "ann", 9).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text, "the same rule twice is one");
            assert_eq!(without_rules(&text), without_rules(before));

            let ann = ["ann".to_owned()];
            let stands =
                |folder: &str, who: &[String]| standing(&file, Path::new(folder), who).len();
            assert_eq!(standing(&file, here, &ann)[0].rule, rule("git push *"));
            assert_eq!((stands("/home/ann/b", &ann), stands("/home/ann", &ann)), (0, 0));
            assert!(standing(&file, here, &["bob".to_owned()]).is_empty());

            let rules = rules_in(&text);
            remove(&file, &rules[0]).unwrap();
            assert!(remove(&file, &rules[0]).is_err(), "it is gone");
            assert_eq!(rules_in(&fs::read_to_string(&file).unwrap()).len(), 1);
            remove(&file, &rules_in(&fs::read_to_string(&file).unwrap())[0]).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), before.trim_end());
        }
    }

    #[test]
    fn a_file_that_would_not_load_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OPERATOR_FILE);
        for before in
            ["level = \"lax\"\n", "approvals = [{ tool = \"mcp__a__b\", zone = \"external\" }]\n"]
        {
            fs::write(&file, before).unwrap();
            assert!(add(&file, &rule("make *"), Path::new("/x"), "ann", 0).is_err(), "{before}");
            assert_eq!(fs::read_to_string(&file).unwrap(), before);
        }
        let listed = &rules_in(&fs::read_to_string(&file).unwrap())[0];
        assert!(remove(&file, listed).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }
}
