//! §14, context files: AGENTS.md near visited files, bounded, inside the workspace, once.

use pintle_agent::testing::Answer;

use crate::world::{World, last_text, read};

#[tokio::test]
async fn the_context_of_a_visited_file_is_offered_once_the_nearest_first() {
    let world = World::new();
    world.write("AGENTS.md", "use tabs");
    world.write("api/AGENTS.md", "no panics");
    world.write("api/src/a.rs", "a");
    world.write("web/b.rs", "b");
    let script = vec![
        read("1", "api/src/a.rs"),
        read("2", "api/src/a.rs"),
        read("3", "web/b.rs"),
        Answer::text("Done."),
    ];
    let (requests, _) = world.play(script).await;
    let texts: Vec<String> = requests.iter().map(|request| last_text(request)).collect();
    let (near, above) = (texts[1].find("no panics").unwrap(), texts[1].find("use tabs").unwrap());
    assert!(near < above && texts[1].contains("AGENTS.md of `api` says:"), "{}", texts[1]);
    assert_eq!((texts[2].as_str(), texts[3].as_str()), ("a", "b"), "each file is offered once");
    // Also in the next run of the conversation.
    let (requests, _) = world.run(vec![read("4", "web/b.rs"), Answer::text("Done.")]).await;
    assert_eq!(last_text(&requests[1]), "b");
}

#[tokio::test]
async fn what_the_agent_reads_itself_is_not_offered_again() {
    let world = World::new();
    world.write("AGENTS.md", "use tabs");
    let (requests, _) = world.play(vec![read("1", "AGENTS.md"), Answer::text("Done.")]).await;
    assert_eq!(last_text(&requests[1]), "use tabs");
}

#[tokio::test]
async fn a_long_file_is_cut_and_says_where_the_rest_is() {
    let world = World::new();
    world.write("AGENTS.md", &"ä".repeat(100_000));
    world.write("a.rs", "a");
    let (requests, _) = world.play(vec![read("1", "a.rs"), Answer::text("Done.")]).await;
    let text = last_text(&requests[1]);
    assert!(text.len() < 4 * 1024 && text.contains("read `AGENTS.md` for the rest"), "{text}");
}

#[tokio::test]
async fn no_link_leads_out_of_the_workspace_and_a_pipe_is_not_waited_for() {
    let world = World::new();
    world.write("a.rs", "a");
    let secret = world.data().join("secret");
    std::fs::write(&secret, "the password").unwrap();
    std::os::unix::fs::symlink(&secret, world.workspace().join("AGENTS.md")).unwrap();
    world.write("pipe/a.rs", "a");
    let pipe = world.workspace().join("pipe/AGENTS.md");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = vec![read("1", "a.rs"), read("2", "pipe/a.rs"), Answer::text("Done.")];
    let (requests, _) = world.play(script).await;
    assert_eq!((last_text(&requests[1]), last_text(&requests[2])), ("a".into(), "a".into()));
}
