//! Completions and man pages come from the definitions of the commands.

use std::process::Command;

use crate::support::World;

#[test]
fn bash_completes_the_commands_and_their_options() {
    let world = World::new();
    let script = world.run(&["completions", "bash"]);
    assert_eq!(script.code, Some(0), "{script}");
    world.write("pintle.bash", &script.out);
    let complete = |words: &str| {
        let line = format!(
            "source pintle.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _pintle pintle \"${{COMP_WORDS[-1]}}\" x; echo \"${{COMPREPLY[*]}}\""
        );
        let folder = world.file("");
        let said = Command::new("bash").args(["-c", &line]).current_dir(folder).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("pintle tr"), "trust trace");
    assert_eq!(complete("pintle chat --prof"), "--profile");
    assert_eq!(complete("pintle completions z"), "zsh");
}

#[test]
fn every_shell_has_a_completion_script() {
    let world = World::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = world.run(&["completions", shell]);
        assert_eq!(said.code, Some(0), "{shell}: {said}");
        assert!(said.out.contains("wait-for-approval"), "{shell}: {said}");
    }
    assert!(!world.data().exists(), "printing a script leaves nothing behind");
}

#[test]
fn every_command_has_a_man_page_that_says_what_its_help_says() {
    let world = World::new();
    let folder = world.file("man1");
    assert_eq!(world.run(&["man", folder.to_str().unwrap()]).code, Some(0));
    for (page, words) in [
        ("pintle.1", "pintle\\-chat(1)"),
        ("pintle-chat.1", "\\-\\-wait\\-for\\-approval"),
        ("pintle-approvals-approve.1", "pintle approvals approve"),
    ] {
        let text = std::fs::read_to_string(folder.join(page)).unwrap();
        assert!(text.contains(words), "{page} has no `{words}`:\n{text}");
    }
}
