//! What is reached by a link, by a shebang or outside the profile counts (R10.9).

use crate::reached::shows;
use crate::support::{fingerprint, hook, profile, write};
use std::os::unix::fs::symlink;
use std::path::Path;

/// Whether a change outside the profile shows, and one of the link that leads there.
fn shows_outside(says: &str, link: Option<(&str, &str)>) -> (bool, bool) {
    let agent = hook(r#""argv": ["./hooks/c.sh"]"#);
    let around = profile("{}", &[("out/r", "true\n"), ("other/r", "false\n")]);
    let folder = around.path().join("p");
    write(&folder, "agent.json", &agent);
    write(
        &folder,
        "hooks/c.sh",
        &says.replace("OUT", &around.path().join("out").to_string_lossy()),
    );
    write(&folder, "lib2/a", "");
    let place = |link: &str| folder.join(link);
    if let Some((link, target)) = link {
        std::fs::create_dir_all(place(link).parent().unwrap()).unwrap();
        symlink(target, place(link)).unwrap();
    }
    let trusted = fingerprint(&folder);
    write(around.path(), "out/r", "changed\n");
    let target = !trusted.diff(&fingerprint(&folder)).is_empty();
    write(around.path(), "out/r", "true\n");
    assert!(trusted.diff(&fingerprint(&folder)).is_empty(), "{says}");
    if let Some((link, target)) = link {
        std::fs::remove_file(place(link)).unwrap();
        symlink(target.replace("out", "other"), place(link)).unwrap();
    }
    (target, !trusted.diff(&fingerprint(&folder)).is_empty())
}

#[test]
fn a_link_that_leads_out_counts_with_what_it_leads_to() {
    for (says, link) in [
        (". ./lib/r", ("lib/r", "../../out/r")),
        (". ./lib/r", ("lib", "../out")),
        ("sh lib/r", ("lib", "../out")),
        ("cd lib && . ./r", ("lib", "../out")),
        (". \"$PINTLE_PROFILE_DIR/lib/r\"", ("lib/r", "../../out/r")),
        ("for f in lib/*; do . \"$f\"; done", ("lib", "../out")),
        ("grep -q x lib/r", ("lib/r", "../../out/r")),
    ] {
        assert_eq!(shows_outside(says, Some(link)), (true, true), "{says}: {link:?}");
    }
    let free = shows_outside("jq . && echo x", Some(("lib", "../out")));
    assert_eq!(free, (false, false));
}

#[test]
fn a_script_outside_the_profile_counts_when_it_is_run_by_its_path() {
    for says in [". ../out/r", ". OUT/r", "sh OUT/r", "bash ../out/r x", "python3 -I OUT/r"] {
        assert!(shows_outside(says, None).0, "{says}");
    }
    for says in ["cat OUT/r", "sh hooks/x.sh OUT/r", "echo x > OUT/t; date", ". /etc/os-release"] {
        assert!(!shows_outside(says, None).0, "{says}");
    }
}

#[test]
fn what_a_script_is_run_by_counts() {
    let perl = "#!/usr/bin/perl -Ilib\nuse ZZ;\n";
    assert!(shows("hooks/c", perl, &["lib/ZZ.pm"], "lib/ZZ.pm"));
    assert!(shows("hooks/c", perl, &["lib/A.pm"], "lib/ZZ.pm"));
    assert!(!shows("hooks/c", perl, &["lib/A.pm"], "src/ZZ.pm"));
    let folder = profile(&hook(r#""argv": ["./hooks/c"]"#), &[(".venv/pyvenv.cfg", "")]);
    let python = folder.path().join(".venv/bin/python3");
    std::fs::create_dir_all(python.parent().unwrap()).unwrap();
    symlink("/usr/bin/env", &python).unwrap();
    let package = ".venv/lib/site-packages/a.py";
    write(folder.path(), package, "");
    for (line, counts) in
        [(format!("#!{}", python.display()), true), ("#!/usr/bin/env python3".into(), false)]
    {
        write(folder.path(), "hooks/c", &format!("{line}\nprint(1)\n"));
        let found = fingerprint(folder.path()).scripts;
        assert_eq!(found.keys().any(|it| Path::new(it) == Path::new(package)), counts, "{line}");
    }
}
