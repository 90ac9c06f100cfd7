//! What the operator says holds without a profile too, and the agent cannot say otherwise.

use std::path::PathBuf;

use crate::support::{Said, World};

const SETTINGS: &str = ".local/share/pintle/pintle.toml";

/// A home folder that is the workspace, and so holds the data folder.
struct Home(World);

impl Home {
    fn new(settings: &str) -> Self {
        let world = World::new();
        world.write(SETTINGS, settings);
        Self(world)
    }

    fn pintle(&self, arguments: &[&str]) -> Said {
        let home = self.0.file("").display().to_string();
        self.0.bare(arguments, &[("HOME", &home)])
    }

    fn chat(&self, message: &str) -> Said {
        self.pintle(&["chat", "-q", message])
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.file(name)
    }

    fn settings(&self) -> String {
        std::fs::read_to_string(self.file(SETTINGS)).unwrap()
    }
}

// R10.8
#[test]
fn without_a_profile_too_the_agent_does_not_write_what_the_operator_says() {
    let before = "level = \"standard\"\n";
    let home = Home::new(before);
    let written = home.chat("write notes.txt: x");
    assert!(home.file("notes.txt").exists(), "{written}");
    for place in [SETTINGS, "./.local/../.local/share/pintle/pintle.toml"] {
        let said = home.chat(&format!("write {place}: level = \"permissive\""));
        assert!(said.to_string().contains("a secret"), "{said}");
        assert_eq!(home.settings(), before);
    }
    let said = home.chat("write .local/share/pintle/trust.json: {}");
    assert!(said.to_string().contains("a secret"), "{said}");
    assert!(!home.file(".local/share/pintle/trust.json").exists());
    let said = home.chat(&format!("read {SETTINGS}"));
    assert!(said.to_string().contains("a secret"), "{said}");
}

// R10.8, R11.5
#[test]
fn without_a_profile_too_a_question_waits_no_longer_than_the_operator_says() {
    let world = World::strict();
    let settings = "level = \"strict\"\napproval_timeout_ms = 45000\n";
    std::fs::write(world.data().join("pintle.toml"), settings).unwrap();
    let mut chat = world.start(&["chat", "--wait-for-approval", "-q", "run touch ran"]);
    let question = world.pending();
    let at = |name: &str| question[name].as_u64().unwrap();
    // What is written down a moment after it was asked lapses that much earlier.
    assert!(at("expiresAt") - at("createdAt") <= 45_000, "{question}");
    world.run(&["approvals", "deny", question["id"].as_str().unwrap()]);
    chat.wait().unwrap();
}

// R10.8: somebody meant a file.
#[test]
fn settings_that_are_a_link_to_nowhere_stop_everything() {
    let world = World::new();
    std::fs::create_dir_all(world.data()).unwrap();
    let real = world.file("settings.toml");
    std::fs::write(&real, "level = \"strict\"\n").unwrap();
    std::os::unix::fs::symlink(&real, world.data().join("pintle.toml")).unwrap();
    assert!(world.run(&["chat", "-q", "list ."]).code == Some(0));
    std::fs::remove_file(&real).unwrap();
    world.write("good/agent.json", "{}");
    for arguments in [
        &["chat", "-q", "write a.txt: x"][..],
        &["chat", "--profile", "good", "-q", "write a.txt: x"],
        &["hooks", "lint", "good"],
    ] {
        let said = world.run(arguments);
        assert_eq!(said.code, Some(1), "{said}");
        assert!(said.err.contains("it is a link that leads nowhere"), "{said}");
    }
    assert!(!world.file("a.txt").exists());
}
