//! "Did you mean …?": the nearest valid name.

/// The valid spelling closest to what was written, if it is close enough to be what was meant.
#[must_use]
pub fn nearest<'a>(written: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', '.', ' '], "");
    let wanted = plain(written);
    let begins = |name: &str| {
        let name = plain(name);
        wanted.len().min(name.len()) >= 3
            && (name.starts_with(&wanted) || wanted.starts_with(&name))
    };
    valid
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted, &plain(name)), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1) || begins(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The tool that goes by this name in other agents, if it is one of `there`; else the one that is spelt nearly so.
#[must_use]
pub fn tool_meant<'t>(written: &str, there: impl IntoIterator<Item = &'t str>) -> Option<&'t str> {
    let there: Vec<&str> = there.into_iter().collect();
    let plain = written.to_lowercase().replace(['_', '-'], "");
    let elsewhere = match plain.as_str() {
        "bash" | "shell" | "sh" | "exec" | "runcommand" | "execcommand" | "runshellcommand"
        | "executecommand" | "runterminalcmd" | "powershell" => "terminal",
        "read" | "view" | "cat" | "openfile" | "readmanyfiles" => "read_file",
        "write" | "create" | "createfile" | "savefile" => "write_file",
        "edit" | "multiedit" | "strreplace" | "applypatch" | "searchreplace" | "replace"
        | "applydiff" => "edit_file",
        "ls" | "list" | "listfiles" | "listdirectory" | "readdir" => "list_dir",
        "task" | "agent" | "subagent" | "spawnagent" => "delegate",
        _ => "",
    };
    let known = there.iter().copied().find(|name| *name == elsewhere);
    known.or_else(|| nearest(written, there))
}
