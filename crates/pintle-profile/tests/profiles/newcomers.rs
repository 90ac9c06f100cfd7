//! What somebody writes who has never seen an agent.json, and the exact answer (R10.4): `INSTA_UPDATE=always` rewrites the
//! snapshots. Each says where, what was expected and how to write it, for everything in the file at once.

const CASES: &[(&str, &str)] = &[
    (
        "comment_of_a_shell",
        "{\n  // who it is\n  \"name\": \"a\",\n  # what it is\n  \"model\": \"offline\"\n}\n",
    ),
    (
        "commas_at_every_end",
        "{\n  \"name\": \"a\",\n  \"hooks\": {\n    \"onToolCall\": [\n      { \"action\": \"log\", },\n    ],\n  },\n  \"nmae\": 1,\n}\n",
    ),
    ("a_text_over_two_lines", "{\n  \"name\": \"a\n b\",\n  \"model\": \"off\tline\"\n}\n"),
    ("names_without_quotes", "{\n  name: \"a\",\n  hoks: {}\n}\n"),
    ("no_comma_between", "{\n  \"name\": \"a\"\n  \"modle\": \"offline\"\n}\n"),
    ("byte_order_mark_and_more", "\u{feff}{\n  \"nam\": \"a\"\n}\n"),
    (
        "hooks_as_a_list",
        "{\n  \"hooks\": [{ \"event\": \"onToolCall\", \"action\": \"log\" }]\n}\n",
    ),
    ("a_moment_outside_hooks", "{\n  \"onToolCall\": [{ \"action\": \"log\" }]\n}\n"),
    ("policies_inside_hooks", "{\n  \"hooks\": { \"policies\": [] }\n}\n"),
    (
        "wrong_case",
        "{\n  \"Name\": \"a\",\n  \"hooks\": { \"OnToolCall\": [{ \"Action\": \"log\" }], \"onStart\": [{ \"action\": \"Log\" }] }\n}\n",
    ),
    (
        "numbers_as_texts",
        "{\n  \"limits\": { \"maxTurns\": \"20\", \"maxCostUsd\": \"0.5$\", \"maxSeconds\": 1e3 },\n  \"security\": { \"approvalTimeoutMs\": \"30m\" }\n}\n",
    ),
    (
        "a_guard_in_other_words",
        "{\n  \"policies\": [\n    { \"tools\": [\"terminal\"], \"kind\": \"shell\", \"denny\": [\"rm\"] },\n    { \"tool\": \"terminal\", \"kind\": \"command\", \"deny\": \"rm\" }\n  ]\n}\n",
    ),
    (
        "as_another_program_has_it",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": [{ \"type\": \"command\", \"command\": \"check.sh\" }] }\n    ],\n    \"Stop\": [{ \"type\": \"command\", \"command\": \"true\" }]\n  }\n}\n",
    ),
    (
        "hook_points_as_moments",
        "{\n  \"hooks\": { \"before_tool_call\": [], \"session_start\": [], \"tool_pre\": [], \"onPreToolCall\": [] }\n}\n",
    ),
    (
        "actions_in_other_words",
        "{\n  \"hooks\": { \"onToolCall\": [\n    { \"type\": \"log\" },\n    { \"log\": {} },\n    { \"action\": \"save-json\", \"file\": \"x\" },\n    { \"action\": \"shell\", \"command\": \"true\" },\n    { \"action\": \"command\", \"argv\": \"hooks/check.sh now\" }\n  ] }\n}\n",
    ),
    (
        "parts_as_something_else",
        "{\n  \"security\": \"strict\",\n  \"level\": \"strict\",\n  \"tools\": [\"terminal\"],\n  \"personality\": { \"prompt\": \"You are x\" },\n  \"personalities\": [{ \"name\": \"x\", \"prompt\": \"y\" }],\n  \"mcp_servers\": { \"fs\": { \"command\": [\"npx\", \"server\"] } }\n}\n",
    ),
    (
        "a_bracket_too_few",
        "{\n  \"hooks\": {\n    \"onToolCall\": [\n      { \"action\": \"log\" }\n    ]\n\n  \"name\": \"x\"\n}\n",
    ),
    ("a_field_of_a_part_misspelt_at_the_top", "{\n  \"levl\": \"strict\",\n  \"maxTurn\": 3\n}\n"),
    ("toml", "name = \"a\"\n"),
    ("yaml", "name: a\nhooks:\n  onStart: []\n"),
    ("a_backslash", "{\n  \"name\": \"C:\\Users\"\n}\n"),
    ("quotes_of_a_word_processor", "{\n  “name”: “a”\n}\n"),
    ("half_a_number", "{\n  \"limits\": { \"maxCostUsd\": .5 }\n}\n"),
    ("a_plus", "{\n  \"limits\": { \"maxTurns\": +5, \"maxSeconds\": 0x10 }\n}\n"),
    ("a_quote_too_few", "{\n  \"name\": \"abc\n}\n"),
    ("a_comment_without_end", "{\n  /* who it is\n  \"name\": \"abc\"\n}\n"),
    (
        "a_zero_too_many",
        "{\n  // 007\n  \"name\": \"007\",\n  \"limits\": { \"maxTurns\": 010 }\n}\n",
    ),
    ("zeros_in_a_list", "{\n  \"plugins\": [01, -00.5]\n}\n"),
    ("a_number_for_a_name", "{ 1: 2 }\n"),
    ("half_a_character", "{\n  \"name\": \"\\ud800\"\n}\n"),
    ("half_an_escape", "{\n  \"name\": \"C:\\users\"\n}\n"),
    (
        "fields_without_an_action",
        "{\n  \"hooks\": { \"onToolCall\": [\n    { \"path\": \"x\" },\n    { \"url\": \"https://x.example\", \"tools\": [\"*\"] },\n    { \"command\": \"true\" },\n    { \"argv\": [\"true\"], \"zzz\": 1 },\n    { \"level\": \"warn\" },\n    { \"path\": \"x\", \"url\": \"https://x.example\" },\n    {}\n  ] }\n}\n",
    ),
    (
        "a_tab_in_a_name_and_in_a_prompt",
        "{\n  \"name\": \"a\tb\",\n  \"personalities\": { \"x\": { \"prompt\": \"a\tb\" } }\n}\n",
    ),
    (
        "globs_of_other_programs",
        r#"{
  "policies": [
    { "tool": "{write_file,edit_file}", "kind": "path", "deny": ["{.env,.git}", "*.{pem,key}", "!.env", ".env, .git", ".env ", "src\\a"] },
    { "tool": "terminal", "kind": "shell", "deny": ["{rm,mv}", "git {push,pull} *", "rm, mv", "!ls"] },
    { "tool": "terminal", "kind": "json", "deny": ["/command={rm,mv} *"] }
  ],
  "hooks": { "onToolCall": [{ "action": "approve", "tools": ["{write_file,edit_file}", "!read_file", "read_file,list_dir"] }] }
}
"#,
    ),
    (
        "globs_that_would_guard_the_opposite",
        r#"{
  "policies": [
    { "tool": "terminal", "kind": "shell", "allow": ["git [^p]*"], "deny": ["git push:*", "/git push/", "npm {run,exec} x *", "ls [[:alpha:]]*"] },
    { "tool": "write_file", "kind": "path", "deny": [
      "$HOME/x", "${HOME}/x", "*.js|*.ts", "@(a|b)/**", "^secrets/.*", "*.pem$", "file:///etc", "[^a]/x"
    ] },
    { "tool": "write_file", "kind": "json", "deny": ["/content=!a", "/content=[^a]*"] },
    { "tool": "^terminal$", "kind": "shell", "deny": ["rm"] }
  ]
}
"#,
    ),
    ("two_files_in_one", "{}\n{}\n"),
    ("nothing_said_twice", "{\n  \"hooks\": null,\n  \"plugins\": {},\n  \"plugins\": []\n}\n"),
    // What follows has a second mistake each, which is told too.
    (
        "comments_of_a_shell_and_more",
        "# my agent\n{\n  \"nmae\": \"a\", # who\n  # what\n  \"model\": \"ofline\"\n}\n",
    ),
    ("curly_quotes_and_more", "{\n  “name”: “a”,\n  ‘modle’: \"offline”,\n  \"hoks”: {}\n}\n"),
    (
        "colons_missing_and_more",
        "{\n  \"name\" \"a\",\n  \"limits\" { \"maxTurn\" = 5; \"maxSeconds\":: 9 },\n  \"model\"\n  \"hoks\": {}\n}\n",
    ),
    (
        "commas_everywhere_and_more",
        "{\n  ,\"name\": \"a\",,\n  \"plugins\": [, \"a\",, \"b\" \"c\"],\n  \"hoks\": {}\n}\n",
    ),
    (
        "a_list_not_closed_and_more",
        "{\n  \"hooks\": {\n    \"onToolCal\": [\n      { \"action\": \"log\" }\n  },\n  \"nmae\": \"x\"\n}\n",
    ),
    (
        "an_object_not_closed_and_more",
        "{\n  \"hooks\": {\n    \"onToolCall\": [\n      { \"action\": \"lgo\"\n    ]\n  },\n  \"nmae\": \"x\"\n}\n",
    ),
    ("the_last_bracket_missing_and_more", "{\n  \"nmae\": \"x\",\n  \"hooks\": {\n"),
    (
        "all_brackets_at_the_end_of_the_only_line_missing_and_more",
        r#"{"nmae":"x","hooks":{"onToolCall":[{"action":"lgo"}]"#,
    ),
    ("a_file_that_breaks_off_and_more", r#"{"nmae":"x","hooks":{"onToolCall":[{"action":"lgo"#),
    ("a_bracket_of_the_wrong_kind_and_more", "{ \"plugins\": [\"a\"}, \"nmae\": 1 }\n"),
    ("a_bracket_too_many_and_more", "{\n  \"nmae\": 1 },\n  \"name\": \"a\"\n}\n"),
    (
        "quotes_too_few_and_more",
        "{\n  \"name\": \"abc,\n  \"plugins\": [\"a, \"b\"],\n  \"nmae\": \"x\n}\n",
    ),
    (
        "words_of_another_language_and_more",
        "{\n  \"model\": offline,\n  \"name\": my agent\n  \"plugins\": None,\n  \"hooks\": { \"onToolCall\": [{ \"action\": \"command\", \"command\": \"true\", \"worker\": True }] },\n  \"nmae\": 1_000\n}\n",
    ),
    (
        "names_in_a_list_and_more",
        "{\n  \"plugins\": [\"a\": 1],\n  \"tools\": { [\"x\"] },\n  \"nmae\": 1\n}\n",
    ),
    (
        "a_value_missing_and_more",
        "{\n  \"name\": ,\n  \"model\":\n  \"nmae\": 1,\n  \"limits\": { \"maxTurns\": }\n}\n",
    ),
    ("a_blank_that_is_none", "{\n\u{a0}\u{a0}\"nmae\": \"a\"\n}\n"),
];

// A brace, a comma or a `!` that is meant as itself has its way to be written.
#[test]
fn signs_that_mean_nothing_in_a_glob_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = r#"{ "policies": [
        { "tool": "write_file", "kind": "path", "deny": ["[{]a}", "x[,]v", "[!]a]", "a[\\]b", "{a}", "routes/[$]id", "app/(shop)/x", "x[|]y", "[^]a", "a[:]//b"] },
        { "tool": "terminal", "kind": "shell", "deny": ["cut -d, *", "echo [!a]", "git log --format={a}", "npm run test[:]*", "/bin/ls src/", "rm *.*"] },
        { "tool": "terminal", "kind": "json", "deny": ["/command=[{]a,b}", "/command=*{\"a\": 1, \"b\": 2}*"] }
    ] }"#;
    std::fs::write(folder.path().join("agent.json"), source).unwrap();
    let told = crate::load(folder.path()).map(|_| ()).map_err(|errors| errors.render(false));
    assert_eq!(told, Ok(()));
}

#[test]
fn each_newcomer_is_told_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let load = |(name, source): &(&'static str, &str)| {
        std::fs::write(folder.path().join("agent.json"), source).unwrap();
        (*name, crate::load(folder.path()))
    };
    insta::assert_snapshot!(crate::page(CASES.iter().map(load)));
}
