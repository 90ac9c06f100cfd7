//! What programs are told to look in by a variable counts (R10.9).

use crate::reached::shows;

#[test]
fn a_folder_that_a_script_puts_on_the_path_counts() {
    for says in [
        "PATH=$PWD/lib:$PATH\nhelper",
        "PATH=lib:$PATH; helper",
        "PATH+=:lib; helper",
        "export PATH=\"$PINTLE_PROFILE_DIR/lib:$PATH\"\nhelper",
        "export PATH=\"$(dirname \"$0\")/../lib:$PATH\"; helper",
        "PATH=lib:/bin helper",
        "env PATH=\"lib:$PATH\" helper",
        "LIB=$PWD/lib; B=\"$LIB\"; PATH=\"$B:$PATH\"; helper",
        "LIB=$(cd \"$(dirname \"$0\")/../lib\" && pwd); PATH=\"$LIB:$PATH\" helper",
        "cd lib; PATH=.:$PATH; helper",
        "cd lib; PATH=$PWD:$PATH; helper",
        "PATH=$PATH:; cd lib; helper",
        "PATH=$(cat etc/p):$PATH; helper",
        "PATH=$(cat etc/p)/x:$PATH; helper",
        "PATH=$1:$PATH; helper",
        "LD_LIBRARY_PATH=lib ls",
        "LD_PRELOAD=lib/helper ls",
        "HOME=$PWD/lib bash -lc 'echo x'",
        "CURL_HOME=lib curl -s http://localhost/",
        "XDG_CONFIG_HOME=$PWD/lib git status",
        "GIT_EXEC_PATH=lib git status",
    ] {
        assert!(shows("hooks/c.sh", says, &["lib/helper"], "lib/helper"), "{says}");
        let new = says.contains("PRELOAD") || shows("hooks/c.sh", says, &["lib/a"], "lib/helper");
        assert!(new, "new: {says}");
    }
    let nested = "cd src; PATH=bin:$PATH; helper";
    assert!(shows("hooks/c.sh", nested, &["src/bin/helper"], "src/bin/helper"));
    for says in ["PATH=.:$PATH; helper", "PATH=$PWD:$PATH; helper", "D=$PWD; PATH=$D:$PATH helper"]
    {
        assert!(shows("hooks/c.sh", says, &["helper"], "helper"), "{says}");
    }
}

#[test]
fn a_path_that_leads_elsewhere_leaves_the_project_to_the_agent() {
    for says in [
        "PATH=/usr/local/bin:$PATH; cd src && ruff check .",
        "export PATH=\"$HOME/.local/bin:$PATH\"\ncd src && ruff check .",
        "export PATH=\"$PATH:$(go env GOPATH)/bin\"; gofmt -l src",
        "export PATH=\"${PATH:+$PATH:}/opt/x/bin\"; jq .",
        "PATH=\"$(dirname \"$0\"):$PATH\"; jq . src/app.py",
        "HERE=$(cd \"$(dirname \"$0\")\" && pwd); PATH=\"$HERE:$PATH\"; helper src",
        "ROOT=$(cd \"$(dirname \"$0\")/..\" && pwd); PATH=\"$ROOT/bin:$PATH\"; helper",
        "HOME=$(mktemp -d) git status",
        "D=$(mktemp -d); HOME=$D; git status",
        "GIT_PAGER=cat git log; PAGER= git diff; EDITOR=vi; GIT_TERMINAL_PROMPT=0 git fetch",
        "FILE_PATH=src/app.py; wc -l \"$FILE_PATH\" > /dev/null",
        "LC_ALL=C LANG=C sort; DEBUG=src; TZ=UTC date",
    ] {
        assert!(!shows("hooks/c.sh", says, &["bin/h", "src/app.txt"], "src/app.txt"), "{says}");
        assert!(!shows("hooks/c.sh", says, &["bin/h"], "notes.txt"), "new: {says}");
    }
}
