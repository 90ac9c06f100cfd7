#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use serde_json::json;

struct World {
    folder: tempfile::TempDir,
    own: Own,
}

/// A profile that is the workspace itself, with a hook and a personality.
fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap().join("work");
    for place in ["hooks", "sub/hooks", "src", "personalities/guide"] {
        std::fs::create_dir_all(work.join(place)).unwrap();
    }
    for file in [
        "agent.json",
        "hooks/check.sh",
        "personalities/guide/SOUL.md",
        "sub/agent.json",
        "package.json",
        "a.txt",
    ] {
        std::fs::write(work.join(file), "").unwrap();
    }
    std::os::unix::fs::symlink("agent.json", work.join("link")).unwrap();
    let data = folder.path().canonicalize().unwrap().join("data");
    std::fs::create_dir(&data).unwrap();
    let mut files = vec![data];
    files.extend(["hooks/check.sh", "agent.json", "personalities"].map(|name| work.join(name)));
    let program = std::env::current_exe().unwrap().canonicalize().unwrap();
    World { own: Own { files, program: Some(program), workspace: work }, folder }
}

#[test]
fn a_command_that_may_reach_the_agents_own_files_is_a_concern() {
    let world = world();
    let asks = |command: &str| world.own.concern("terminal", &json!({ "command": command }));
    let data = world.folder.path().join("data/pintle.toml").display().to_string();
    for command in [
        "echo {} > agent.json",
        "cp sub/c.sh hook?/check.sh",
        "cp sub/agent.json .",
        "cp sub/* .",
        "cp -r sub/hooks .",
        "cp -r sub/. .",
        "cp -t . sub/agent.json",
        "cp a agent.jso?",
        "cp a l*k",
        "cp a {agent,b}.json",
        "cp a \"$PWD/agent.json\"",
        "cp a \"$X\"",
        "cp a $X/agent.json",
        "cp a $(echo agent).json",
        "cp a ${X:-agent.json}",
        "echo x > \"$X\"",
        "echo x > *.json",
        "sed -i s/a/b/ *.json",
        "f=agent.json; tee $f",
        "ls | xargs rm",
        "cd hooks && cp ../a check.sh",
        "cd sub; cd ..; cp a agent.json",
        "cd $X && cp a agent.json",
        "tar xf a.tar",
        "tar -C . -xf a.tar",
        "patch -p1 < a.diff",
        "git apply a.diff",
        "mv hooks old",
        "rm -rf .",
        "rm -rf *",
        "chmod -R a+w .",
        "rsync -a sub/ .",
        "ln -sf sub/agent.json .",
        "find . -name agent.json -delete",
        "dd of=agent.json",
        "find . -name '*.json' -delete",
        "find -delete",
        "find -L -name x -delete",
        "find . -type f -exec cp a {} +",
        "find . -type f -exec sh -c 'cp a {}' \\;",
        "ls | xargs -I% cp a %",
        "cp -at. sub/agent.json",
        "cp -at . sub/agent.json",
        "ln -sf sub/agent.json",
        "cd $X && cp y/agent.json .",
        "curl -O http://localhost/agent.json",
        "curl -sSLO http://localhost/agent.json?x",
        "curl --remote-name http://localhost/agent.json",
        "wget http://localhost/agent.json",
        "wget http://localhost/agent%2Ejson",
        "curl -OJ http://localhost/a",
        "wget -i list.txt",
        "wget -P hooks http://localhost/check.sh",
        "wget -Phooks http://localhost/check.sh",
        "cp a \"${X%x}\"",
        "mv a \"$X\"",
        "tee \"$X\"",
        "sed -i s/a/b/ \"$X\"",
        "install a \"$X\"",
        "ln -sf a \"$X\"",
        "rsync a \"$X\"",
        "dd of=\"$X\"",
        "curl -o \"$X\" http://localhost",
        "wget -O \"$X\" http://localhost",
        "rm \"$X\"",
        "git checkout \"$X/agent.json\"",
        "git checkout -m agent.json",
        "git log > \"$X\"",
        "echo 'unclosed",
        &format!("echo x > {data}"),
        "sh -c 'cp a agent.json'",
    ] {
        let concern = asks(command).unwrap_or_else(|| panic!("{command}"));
        assert!(concern.contains("the rules the agent works under"), "{command}: {concern}");
    }
    for command in [
        "ls *.txt",
        "ls *",
        "ls -la",
        "cat $X",
        "grep -r foo .",
        "grep foo *",
        "cargo build",
        "cargo test --workspace 2>&1 | tail -5",
        "make -j$(nproc)",
        "echo x > out.txt",
        "cp a.txt b.txt",
        "cp a.txt src/",
        "cp src/* out/",
        "rm -rf src/build",
        "rm *.txt",
        "mv a.txt src",
        "touch src/{a,b}.rs",
        "git status && git commit -m \"x $Y\"",
        "for f in *.txt; do cat \"$f\"; done",
        "gcc -o \"$f.o\" a.c",
        "cd src && ls",
        "tar czf out.tgz src",
        "find . -name '*.json'",
        "npm run build",
        "git checkout \"$X\" && git tag \"v${X#v}\"",
        "git commit -am \"$X\" && git commit -m agent.json",
        "cargo test \"$X\" -- $(cat tests.txt)",
        "make -j $(nproc) \"$X\"",
        "mkdir -p \"$X\" && touch \"$X\"",
        "kill $(cat a.pid)",
        "docker run \"$X\" && ssh \"$X\" ls",
        "find src -name '*.o' -delete",
        "find . -type f -exec grep foo {} +",
        "ln -s src/a b",
        "cp -at src a.txt",
        "curl -O http://localhost/a.tgz",
        "wget http://localhost/a.tgz",
    ] {
        assert_eq!(asks(command), None, "{command}");
    }
}

#[test]
fn a_command_that_runs_pintle_is_a_concern() {
    let world = world();
    let running = std::env::current_exe().unwrap().display().to_string();
    for command in [
        "pintle trust . --accept",
        "sleep 1 && pintle approvals approve 1 &",
        "/usr/local/bin/pintle chat -q hi",
        "env A=1 timeout 5 pintle approvals list",
        "sh -c 'pintle trust .'",
        &format!("{running} trust ."),
        "p\\intle trust .",
    ] {
        let concern = world.own.concern("terminal", &json!({ "command": command }));
        assert!(concern.is_some_and(|why| why.contains("runs pintle itself")), "{command}");
    }
    for command in ["echo pintle", "ls crates/pintle", "cargo build -p pintle"] {
        assert_eq!(
            world.own.concern("terminal", &json!({ "command": command })),
            None,
            "{command}"
        );
    }
}

#[test]
fn any_text_of_a_strangers_tool_may_be_a_path() {
    let world = world();
    let concern = |tool: &str, input: Value| world.own.concern(tool, &input).is_some();
    assert!(concern("files__copy", json!({ "source": "a", "destination": "src/../agent.json" })));
    assert!(concern("files__delete", json!({ "paths": ["a", { "at": "personalities/guide" }] })));
    assert!(concern("write_file", json!({ "path": "link", "content": "x" })));
    assert!(!concern("write_file", json!({ "path": "a.txt", "content": "agent.json" })));
    assert!(!concern("files__copy", json!({ "source": "a", "destination": "b" })));
}
