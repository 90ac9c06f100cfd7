//! How a command ends, or fails to start.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use pintle::FailureKind;
use pintle_exec::{CommandHook, CommandSpec, Program};

use crate::support::{Profile, tool_call};

#[tokio::test]
async fn exit_0_allows() {
    let profile = Profile::new();
    let judged = profile.judge(profile.shell("exit 0")).await.allowed(); // R8.1
    assert!(judged.notes.is_empty());
}

#[tokio::test]
async fn any_other_exit_blocks_with_stderr_as_the_reason() {
    let profile = Profile::new();
    for code in [1, 2, 3, 126, 127, 255] {
        let line = format!("echo ' not on a Friday ' >&2; exit {code}");
        let judged = profile.judge(profile.shell(&line)).await.failed(FailureKind::Exit(code)); // R8.1
        assert_eq!(judged.reason(), "not on a Friday");
    }
}

#[tokio::test]
async fn an_exit_without_words_still_says_who_and_how() {
    let profile = Profile::new();
    let judged = profile.judge(profile.shell("exit 3")).await.failed(FailureKind::Exit(3));
    assert_eq!(judged.reason(), "`guard` exited with code 3");
}

#[tokio::test]
async fn death_by_signal_blocks() {
    let profile = Profile::new();
    for signal in [6, 9, 11, 15] {
        let line = format!("echo oh >&2; kill -{signal} $$");
        let judged = profile.judge(profile.shell(&line)).await.failed(FailureKind::Signal(signal));
        assert_eq!(judged.reason(), format!("`guard` was killed by signal {signal}: oh"));
    }
}

#[tokio::test]
async fn a_shell_that_cannot_find_its_command_blocks() {
    let profile = Profile::new();
    fs::write(profile.path().join("plain.sh"), "exit 0").unwrap();
    profile.judge(profile.shell("./nowhere.sh")).await.failed(FailureKind::Exit(127));
    profile.judge(profile.shell("./plain.sh")).await.failed(FailureKind::Exit(126));
}

#[tokio::test]
async fn a_missing_file_blocks_and_is_named() {
    let profile = Profile::new();
    let judged = profile.judge(profile.argv(["./nowhere.sh"])).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("there is no file"), "{judged:?}");
    assert!(judged.reason().contains("nowhere.sh"), "{judged:?}");

    let judged =
        profile.judge(profile.argv(["no-such-program-xyz"])).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("no-such-program-xyz` on the PATH"), "{judged:?}");

    let judged =
        profile.judge(profile.spec(Program::Argv(vec![]))).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("argv is empty"), "{judged:?}");
}

#[tokio::test]
async fn a_file_without_a_run_bit_blocks_and_says_chmod() {
    let profile = Profile::new();
    let script = profile.script("hook.sh", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let judged = profile.judge(profile.argv(["./hook.sh"])).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("chmod +x"), "{judged:?}");
}

#[tokio::test]
async fn a_missing_interpreter_blocks_and_is_told_from_a_missing_file() {
    let profile = Profile::new();
    profile.script("hook.py", "#!/opt/no/such/python\nprint('hi')\n");
    let judged = profile.judge(profile.argv(["./hook.py"])).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("interpreter"), "{judged:?}");
}

#[tokio::test]
async fn a_script_without_a_first_line_blocks_and_says_so() {
    let profile = Profile::new();
    profile.script("hook", "exit 0\n");
    let judged = profile.judge(profile.argv(["./hook"])).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("#!/bin/sh"), "{judged:?}");
}

#[tokio::test]
async fn a_script_deleted_while_the_agent_runs_blocks_from_then_on() {
    let profile = Profile::new();
    let script = profile.script("hook.sh", "#!/bin/sh\nexit 0\n");
    let spec = profile.argv(["./hook.sh"]);
    let (timeout, hook) = (spec.timeout, CommandHook::new(spec));
    profile.judge_within(timeout, hook.clone(), tool_call()).await.allowed();
    fs::remove_file(script).unwrap();
    profile.judge_within(timeout, hook, tool_call()).await.failed(FailureKind::Spawn);
}

#[tokio::test]
async fn a_script_that_deletes_itself_is_heard_to_its_end() {
    let profile = Profile::new();
    profile.script("hook.sh", "#!/bin/sh\nrm -- \"$0\"\necho gone >&2\nexit 4\n");
    let judged = profile.judge(profile.argv(["./hook.sh"])).await.failed(FailureKind::Exit(4));
    assert_eq!(judged.reason(), "gone");
}

#[tokio::test]
async fn a_profile_folder_that_is_gone_blocks_and_is_named() {
    let profile = Profile::new();
    let mut spec = profile.shell("exit 0");
    spec.profile_dir = PathBuf::from("/no/such/profile");
    let judged = profile.judge(spec).await.failed(FailureKind::Spawn);
    assert!(judged.reason().contains("/no/such/profile"), "{judged:?}");
}

#[tokio::test]
async fn a_read_only_folder_is_the_hooks_own_business() {
    let profile = Profile::new();
    // Read-only whoever asks, root included.
    let mut spec = CommandSpec { profile_dir: "/proc".into(), ..profile.shell("exit 0") };
    profile.judge(spec.clone()).await.allowed();
    spec.program = Program::Shell("echo note > ./note.txt".into());
    let judged = profile.judge(spec).await;
    assert!(matches!(judged.kind(), Some(FailureKind::Exit(1 | 2))), "{judged:?}");
    assert!(!judged.tool_ran);
}

#[tokio::test]
async fn a_full_disk_blocks_a_hook_that_has_to_write() {
    let profile = Profile::new();
    // A disk of one page, in a mount namespace of the hook's own.
    let line = "mkdir -p full && mount -t tmpfs -o size=4k tmpfs full && cd full && \
                head -c 4096 /dev/zero > a && head -c 65536 /dev/zero > b";
    let judged = profile.judge(profile.argv(["unshare", "-rm", "/bin/sh", "-ec", line])).await;
    let judged = judged.failed(FailureKind::Exit(1));
    assert!(judged.reason().contains("No space left"), "{judged:?}");
}

#[tokio::test]
async fn a_hook_whose_own_stdout_is_full_blocks() {
    let profile = Profile::new();
    let judged = profile.judge(profile.shell("cat > /dev/full")).await.failed(FailureKind::Exit(1));
    assert!(judged.reason().contains("No space left"), "{judged:?}");
}
