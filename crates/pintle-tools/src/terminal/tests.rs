use std::path::Path;

use pintle_sandbox::Unconfined;
use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::testing::{all_gone, cx, pids, watched};

const TICK: Duration = Duration::from_secs(60);

fn config() -> TerminalConfig {
    TerminalConfig {
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..TerminalConfig::default()
    }
}

fn parse(args: Value, workspace: &Path) -> Result<Job, ToolError> {
    let spec = Terminal::new(config(), Background::default()).spec();
    Job::parse(&args, &Reach::of(&spec, &args, workspace), TICK)
}

fn job(command: &str, workspace: &Path) -> Job {
    parse(json!({"command": command}), workspace).unwrap()
}

async fn execute(config: &TerminalConfig, job: Job, cx: ToolCx) -> Result<String, ToolError> {
    let how = Hold { zone: Zone::Machine, confinement: Unconfined::by("this test").into() };
    super::execute(&config.env, how, job, cx.into()).await
}

async fn run(command: &str, workspace: &Path) -> Result<String, ToolError> {
    execute(&config(), job(command, workspace), cx(workspace)).await
}

#[tokio::test]
async fn what_a_command_prints_is_its_result_in_the_order_it_was_printed() {
    let dir = tempdir().unwrap();
    let output = run("echo one; echo two >&2; echo three", dir.path()).await.unwrap();
    assert_eq!(output, "one\ntwo\nthree\n");
}

#[tokio::test]
async fn a_failing_command_is_an_error_with_its_output_and_exit_code() {
    let dir = tempdir().unwrap();
    assert_eq!(
        run("echo no such luck >&2; exit 3", dir.path()).await,
        Err(ToolError::Failed("no such luck\n[exit code 3]".into()))
    );
    assert_eq!(run("exit 1", dir.path()).await, Err(ToolError::Failed("[exit code 1]".into())));
    assert_eq!(
        run("printf partial; kill -KILL $$", dir.path()).await,
        Err(ToolError::Failed("partial\n[killed by signal 9]".into()))
    );
    let missing = run("no-such-program-anywhere", dir.path()).await.unwrap_err().to_string();
    assert!(missing.contains("not found") && missing.ends_with("[exit code 127]"), "{missing}");
}

#[tokio::test]
async fn a_command_starts_in_the_workspace_or_in_the_folder_it_names() {
    let dir = tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    assert_eq!(run("pwd -P", &root).await.unwrap(), format!("{}\n", root.display()));
    let in_folder = parse(json!({"command": "pwd -P", "cwd": "sub"}), &root).unwrap();
    assert_eq!(
        execute(&config(), in_folder, cx(&root)).await.unwrap(),
        format!("{}\n", root.join("sub").display())
    );
    let nowhere = parse(json!({"command": "pwd", "cwd": "nowhere"}), &root).unwrap();
    let message = execute(&config(), nowhere, cx(&root)).await.unwrap_err().to_string();
    assert!(message.contains("nowhere` (cwd) does not exist"), "{message}");
}

#[tokio::test]
async fn a_folder_that_no_command_can_start_in_is_named() {
    let dir = tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::write(root.join("file"), "").unwrap();
    for (cwd, why) in [
        ("file", "(cwd) is not a folder"),
        ("file/sub", "(cwd) is not a folder"),
        ("~", "`~` cannot be resolved: "),
        ("a\0b", "cannot be resolved: "),
    ] {
        let said = match parse(json!({"command": "pwd", "cwd": cwd}), &root) {
            Ok(job) => execute(&config(), job, cx(&root)).await,
            Err(error) => Err(error),
        };
        let message = said.unwrap_err().to_string();
        assert!(message.starts_with("terminal: ") && message.contains(why), "{message}");
    }
    // An empty one is none.
    let job = parse(json!({"command": "pwd -P", "cwd": ""}), &root).unwrap();
    let said = execute(&config(), job, cx(&root)).await.unwrap();
    assert_eq!(said, format!("{}\n", root.display()));
}

#[tokio::test]
async fn a_command_sees_only_the_environment_it_was_given() {
    let dir = tempdir().unwrap();
    assert!(std::env::vars().count() > 0, "there is something to inherit");
    let config = TerminalConfig {
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("GREETING".into(), "hello there".into()),
        ],
        ..TerminalConfig::default()
    };
    let output = execute(&config, job("env", dir.path()), cx(dir.path())).await.unwrap();
    let mut names: Vec<&str> = output.lines().filter_map(|line| line.split('=').next()).collect();
    // The shell sets these itself; the last is the supervisor's.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_", "PINTLE_PROCESS_TAG"].contains(name));
    names.sort_unstable();
    assert_eq!(names, ["GREETING", "PATH"]);
    assert!(output.contains("GREETING=hello there\n"));
}

#[tokio::test]
async fn a_command_has_no_input_and_does_not_wait_for_one() {
    let dir = tempdir().unwrap();
    assert_eq!(run("cat; echo end", dir.path()).await.unwrap(), "end\n");
}

#[tokio::test]
async fn the_shell_is_not_a_login_shell() {
    let dir = tempdir().unwrap();
    std::fs::write(dir.path().join(".profile"), "echo profile was read\n").unwrap();
    let config = TerminalConfig {
        env: vec![("HOME".into(), dir.path().display().to_string())],
        ..TerminalConfig::default()
    };
    assert_eq!(
        execute(&config, job("echo plain", dir.path()), cx(dir.path())).await.unwrap(),
        "plain\n"
    );
}

// P3: it was judged as a program's name.
#[tokio::test]
async fn a_command_that_looks_like_an_option_is_still_a_command() {
    let dir = tempdir().unwrap();
    for command in ["-x", "-l", "+e", "--help", "-"] {
        let said = run(&format!("{command}; echo ran"), dir.path()).await.unwrap();
        assert!(said.contains("not found") && said.ends_with("ran\n"), "{command}: {said}");
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_become_replacement_characters() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    let output = execute(&config(), job(r"printf 'a\377b\303'", dir.path()), cx).await.unwrap();
    assert_eq!(output, "a\u{FFFD}b\u{FFFD}");
    assert_eq!(watched.text(), "a\u{FFFD}b");
}

#[tokio::test]
async fn a_flood_is_cut_to_both_ends_and_memory_stays_bounded() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    let command = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last";
    let output = execute(&config(), job(command, dir.path()), cx).await.unwrap();
    assert!(output.starts_with("first\nxxx"));
    assert!(output.ends_with("xxx\nlast\n"));
    let left_out: u64 = output.split(['[', ' ']).find_map(|word| word.parse().ok()).unwrap();
    assert_eq!(left_out, 100_000_000 + 12 - 2 * KEPT_HALF as u64);
    assert!(output.len() < 2 * KEPT_HALF + 100);
    assert!(watched.text().len() < SHOWN + 16 * 1024, "what is shown is capped too");
}

#[tokio::test]
async fn output_is_shown_while_the_command_still_runs() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    // The command ends only after the file is there, and the file is made only after the output was seen.
    let command = "echo ready; while [ ! -e go ]; do sleep 0.05; done; echo done";
    let running = tokio::spawn({
        let cx = cx.clone();
        let job = job(command, dir.path());
        async move { execute(&config(), job, cx).await }
    });
    watched.says("ready\n").await;
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(running.await.unwrap().unwrap(), "ready\ndone\n");
    assert_eq!(watched.text(), "ready\ndone\n");
}

/// A child, a grandchild, and one that ignores SIGTERM; each prints its id.
const FAMILY: &str = "sh -c 'echo $$; sh -c \"echo \\$\\$; exec sleep 1000\" & \
    sh -c \"trap \\\"\\\" TERM; echo \\$\\$; while :; do sleep 1; done\" & wait' & echo $$; wait";

#[tokio::test]
async fn a_time_limit_stops_the_whole_family_and_is_named() {
    let dir = tempdir().unwrap();
    // Long enough for the family to be born on a busy machine, and waited for in full.
    let job = Job { timeout: Duration::from_secs(6), ..job(FAMILY, dir.path()) };
    let Err(ToolError::TimedOut(message)) = execute(&config(), job, cx(dir.path())).await else {
        panic!("it should have timed out")
    };
    assert!(
        message.contains("[stopped after its time limit of 6000 ms; `timeoutMs` sets another]"),
        "{message}"
    );
    let pids = pids(&message);
    assert_eq!(pids.len(), 4, "{message}");
    all_gone(&pids).await;
}

#[tokio::test]
async fn cancelling_the_run_stops_the_whole_family() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    let running = tokio::spawn({
        let cx = cx.clone();
        let job = job(FAMILY, dir.path());
        async move { execute(&config(), job, cx).await }
    });
    while pids(&watched.text()).len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    cx.cancel.cancel();
    let Err(ToolError::Cancelled(message)) = running.await.unwrap() else {
        panic!("it should be cancelled")
    };
    assert!(message.ends_with("[stopped because the run was cancelled]"), "{message}");
    all_gone(&pids(&watched.text())).await;
}

#[tokio::test]
async fn dropping_the_call_stops_the_whole_family() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    let job = job(FAMILY, dir.path());
    let running = tokio::spawn(async move { execute(&config(), job, cx).await });
    while pids(&watched.text()).len() < 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    all_gone(&pids(&watched.text())).await;
}

#[test]
fn ending_the_runtime_stops_the_whole_family_at_once() {
    let dir = tempdir().unwrap();
    let (cx, watched) = watched(dir.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let job = job(FAMILY, dir.path());
    runtime.spawn(async move { execute(&config(), job, cx).await });
    runtime.block_on(async {
        while pids(&watched.text()).len() < 4 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    drop(runtime);
    tokio::runtime::Runtime::new().unwrap().block_on(all_gone(&pids(&watched.text())));
}

#[tokio::test]
async fn a_background_process_that_holds_the_output_is_waited_for_only_briefly() {
    let dir = tempdir().unwrap();
    let output = run("sleep 1000 & echo $!", dir.path()).await.unwrap();
    assert!(
        output
            .ends_with("[a process it left in the background was stopped; its output may be cut]"),
        "{output}"
    );
    let pids = pids(&output);
    assert_eq!(pids.len(), 1, "{output}");
    all_gone(&pids).await;
}

#[tokio::test]
async fn a_background_process_that_lets_go_of_the_output_does_not_outlive_the_call_either() {
    let dir = tempdir().unwrap();
    let output = run("sleep 1000 >/dev/null 2>&1 & echo $!", dir.path()).await.unwrap();
    assert!(!output.contains('['), "{output}");
    all_gone(&pids(&output)).await;
}

// R8.8
#[tokio::test]
async fn a_background_process_that_left_the_group_is_ended_with_the_call_and_does_not_hold_it_up() {
    let dir = tempdir().unwrap();
    let command =
        "setsid sh -c 'echo $$; touch up; exec sleep 60' & while [ ! -e up ]; do sleep 0.05; done";
    let output = run(command, dir.path()).await.unwrap();
    let pids = pids(&output);
    assert_eq!(pids.len(), 1, "{output}");
    all_gone(&pids).await;
}

#[tokio::test]
async fn a_background_process_that_floods_does_not_hold_up_the_call() {
    let dir = tempdir().unwrap();
    let output = run("echo start; yes & true", dir.path()).await.unwrap();
    assert!(output.starts_with("start\n"), "{output}");
    assert!(output.contains("bytes left out]"), "{output}");
    assert!(output.ends_with("its output may be cut]"), "{output}");
}

#[tokio::test]
async fn many_commands_at_once_each_get_their_own_result() {
    let dir = tempdir().unwrap();
    let runs = (0..40).map(|number| {
        let path = dir.path().to_owned();
        async move { (number, run(&format!("echo {number}; exit $(({number} % 2))"), &path).await) }
    });
    for (number, result) in futures_util::future::join_all(runs).await {
        let expected = if number % 2 == 0 {
            Ok(format!("{number}\n"))
        } else {
            Err(ToolError::Failed(format!("{number}\n[exit code 1]")))
        };
        assert_eq!(result, expected);
    }
}

#[test]
fn wrong_arguments_are_named() {
    let parse = |args: Value| self::parse(args, Path::new("/")).unwrap_err().to_string();
    assert_eq!(parse(json!({})), "terminal: the argument `command` is missing");
    assert_eq!(
        parse(json!({"command": "ls", "timeoutMs": 600_001})),
        "terminal: the argument `timeoutMs` must be at most 600000"
    );
    assert_eq!(
        parse(json!({"command": "ls", "timeout": 5})),
        "terminal: there is no argument `timeout`; it takes `command`, `cwd`, `timeoutMs`, `zone`, `why`, `background`"
    );
    assert_eq!(job("ls", Path::new("/")).timeout, TICK);
}

#[tokio::test]
async fn a_command_with_a_nul_byte_is_refused() {
    let dir = tempdir().unwrap();
    let message = run("echo a\0b", dir.path()).await.unwrap_err().to_string();
    assert!(message.starts_with("terminal: could not start /bin/sh: "), "{message}");
}
