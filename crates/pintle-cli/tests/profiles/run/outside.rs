//! P2 with nothing pretended: real commands and real workers that fail in every way, before a real tool.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use pintle::{DynHandler, ModelKind};
use pintle_exec::{CommandHook, CommandSpec, Program, Unconfined, Worker, WorkerSpec};
use serde_json::json;

use super::real;
use super::support::{calls, of_type, play, says};

/// Longer than a process needs to fail by itself on a busy machine.
const PATIENT: Duration = Duration::from_secs(60);

/// Neither does the tool run, nor is it another failure than the one meant.
async fn assert_blocks(way: &str, guard: impl DynHandler, deadline: Duration, why: &str) {
    let command = json!({"command": "touch marker"});
    let world = real(json!([calls(&[("t1", "terminal", command)]), says("No.")])).await;
    let registrar = world.hooks.named("guard").deadline(deadline);
    registrar.register_dyn("tool.pre", ModelKind::Gate, guard).unwrap();
    let events = play(&world.agent(), "touch it").await;
    assert!(!world.file("marker").exists(), "{way}: the command ran");
    let reason = &of_type(&events, "hook.blocked")[0]["reason"];
    assert!(reason.as_str().unwrap().contains(why), "{way}: {reason}");
}

fn script(folder: &Path, name: &str, text: &str, mode: u32) {
    fs::write(folder.join(name), text).unwrap();
    fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn spec(folder: &Path) -> impl Fn(&str) -> CommandSpec {
    let path = std::env::var_os("PATH").unwrap();
    move |line| {
        CommandSpec::shell(folder, line, Unconfined::by("this test"))
            .inherit([("PATH".into(), path.clone())])
            .timeout(PATIENT)
    }
}

#[tokio::test]
async fn a_marker_is_written_when_the_command_allows_it() {
    let folder = tempfile::tempdir().unwrap();
    let command = json!({"command": "touch marker"});
    let world = real(json!([calls(&[("t1", "terminal", command)]), says("Done.")])).await;
    let guard = CommandHook::new(spec(folder.path())("exit 0"));
    world.hooks.register_dyn("tool.pre", ModelKind::Gate, guard).unwrap();
    play(&world.agent(), "touch it").await;
    assert!(world.file("marker").exists(), "or the tables below would show nothing");
}

#[tokio::test]
async fn no_failure_of_a_real_command_lets_a_real_tool_run() {
    let folder = tempfile::tempdir().unwrap();
    let shell = spec(folder.path());
    script(folder.path(), "no-interpreter", "#!/no/such/thing\n", 0o755);
    script(folder.path(), "no-run-bit", "#!/bin/sh\n", 0o644);
    script(folder.path(), "no-program", "just text\n", 0o755);
    let argv = |name: &str| {
        CommandSpec::argv(folder.path(), [name], Unconfined::by("this test")).timeout(PATIENT)
    };
    let short = Duration::from_millis(300);
    let table = [
        (argv("./missing"), "could not be started"),
        (argv("./no-interpreter"), "could not be started"),
        (argv("./no-run-bit"), "could not be started"),
        (argv("./no-program"), "could not be started"),
        (
            CommandSpec::shell("/no/such/folder", "exit 0", Unconfined::by("this test")),
            "could not be started",
        ),
        (shell("exit 1"), "exited with code 1"),
        (shell("echo no >&2; exit 2"), "no"),
        (shell("exit 126"), "exited with code 126"),
        (shell("./missing"), "not found"),
        (shell("kill -9 $$"), "killed by signal 9"),
        (shell("echo '{\"continue\": tru'"), "cannot be understood"),
        (shell("echo '{\"continue\": \"false\"}'"), "cannot be understood"),
        (shell("echo '{\"continue\": true, \"continue\": false}'"), "cannot be understood"),
        (shell("echo '{\"continue\": false, \"reason\": \"not now\"}'"), "not now"),
        (shell("echo '{\"decision\": \"block\", \"reason\": \"not now\"}'"), "not now"),
        (
            shell("echo '{\"hookSpecificOutput\": {\"permissionDecision\": \"deny\"}}'"),
            "blocked by guard",
        ),
        (shell("echo '{\"decision\": \"maybe\"}'"), "cannot be understood"),
        (shell("echo '{\"verdict\": \"allow\"}'"), "cannot be understood"),
        (shell("echo '{\"decision\": \"allow\", \"updatedInput\": {}}'"), "cannot rewrite"),
        (shell("echo '{\"decision\": \"allow\"}'; exit 1"), "exited with code 1"),
        (shell("echo '{\"continue\": true}'; exit 1"), "exited with code 1"),
        (shell("cat /dev/zero"), "wrote too much"),
        (shell("cat /dev/zero >&2"), "wrote too much"),
        (shell("sleep 300").timeout(short), "timed out"),
        (shell("kill -STOP $$").timeout(short), "timed out"),
        (shell("echo '{\"continue\": true}'; sleep 300").timeout(short), "timed out"),
    ];
    for (spec, why) in table {
        let way = format!("{:?}", spec.program);
        let hook = CommandHook::new(spec);
        let deadline = hook.deadline();
        assert_blocks(&way, hook, deadline, why).await;
    }
}

// R4.10: also when the engine's clock, and not the hook's own, ends it.
#[tokio::test]
async fn a_command_that_is_cut_off_by_its_deadline_lets_no_tool_run() {
    let folder = tempfile::tempdir().unwrap();
    let hook = CommandHook::new(spec(folder.path())("sleep 300"));
    assert_blocks("deadline", hook, Duration::from_millis(300), "timed out").await;
}

/// Reads one line, then does this.
fn worker(folder: &Path, name: &str, then: &str) -> WorkerSpec {
    script(folder, name, &format!("#!/bin/sh\nread -r line\n{then}\n"), 0o755);
    let mut process = spec(folder)("");
    process.program = Program::Argv(vec![format!("./{name}").into()]);
    WorkerSpec::new(process)
}

#[tokio::test]
async fn no_failure_of_a_real_worker_lets_a_real_tool_run() {
    let folder = tempfile::tempdir().unwrap();
    let answers = |answer: &str| format!("echo '{answer}'; read -r line");
    // With the id of what was asked, which nobody can know beforehand.
    let replies = |reply: &str| {
        format!("id=${{line#*:}}; echo \"{{\\\"id\\\": ${{id%%,*}}, \"'{reply}}}'; read -r line")
    };
    let ways = [
        ("exit 0".into(), "no longer there"),
        ("kill -9 $$".into(), "no longer there"),
        (answers("nonsense"), "cannot be understood"),
        (answers(r#"{"id": "1", "result": null}"#), "cannot be understood"),
        (answers(r#"{"id": 1, "result": null}"#), "timed out"),
        (answers(r#"{"ready": true}"#), "timed out"),
        (replies(r#""result": {"continue": 1}"#), "cannot be understood"),
        (replies(r#""result": {"continue": false, "reason": "not now"}"#), "not now"),
        (replies(r#""result": {"decision": "deny", "reason": "not now"}"#), "not now"),
        (replies(r#""result": {"verdict": "allow"}"#), "cannot be understood"),
        (replies(r#""result": {"decision": "allow", "updatedInput": {}}"#), "cannot rewrite"),
        (replies(r#""error": "oh""#), "returned an error"),
        (r#"yes '{"ready": true}'"#.into(), "cannot be understood"),
        (r#"yes '{"id": 1, "result": null}'"#.into(), "cannot be understood"),
        ("yes >&2".into(), "wrote too much"),
        ("tr '\\0' x < /dev/zero".into(), "wrote too much"),
        ("read -r line".into(), "timed out"),
    ];
    for (number, (then, why)) in ways.into_iter().enumerate() {
        let mut spec = worker(folder.path(), &format!("worker-{number}"), &then);
        if why == "timed out" {
            spec.process.timeout = Duration::from_millis(500);
        }
        assert_blocks(&then, Worker::new(spec), PATIENT, why).await;
    }
    let missing = worker(folder.path(), "missing", "");
    fs::remove_file(folder.path().join("missing")).unwrap();
    assert_blocks("missing", Worker::new(missing), PATIENT, "could not be started").await;
}
