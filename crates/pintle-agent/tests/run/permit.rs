//! R6.2: no tool runs without a permit, and nobody but the judge can make one. Shown by code that does not compile.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    time::SystemTime,
};

/// The agent's library that this test was linked with: the newest beside it.
fn library() -> PathBuf {
    let beside = std::env::current_exe().unwrap().parent().unwrap().to_path_buf();
    let built = std::fs::read_dir(beside).unwrap().map(|entry| entry.unwrap().path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libpintle_agent-") && name.ends_with(".rlib")
    };
    let age = |path: &PathBuf| {
        path.metadata().and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    built.filter(named).max_by_key(age).expect("the library was built")
}

fn compile(case: &str) -> Output {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/compile_fail").join(case);
    let library = library();
    let out = tempfile::tempdir().unwrap();
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Command::new(rustc)
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--color=never"])
        .arg("--out-dir")
        .arg(out.path())
        .arg("--extern")
        .arg(format!("pintle_agent={}", library.display()))
        .arg("-L")
        .arg(format!("dependency={}", library.parent().unwrap().display()))
        .arg(source)
        .output()
        .unwrap()
}

/// The compiler's errors, without the lines that show where.
fn errors(case: &str) -> String {
    let output = compile(case);
    assert!(!output.status.success(), "{case} compiles");
    let said = String::from_utf8(output.stderr).unwrap();
    let errors: Vec<_> = said.lines().filter(|line| line.starts_with("error[")).collect();
    errors.join("\n")
}

#[test]
fn code_with_a_permit_compiles() {
    let output = compile("with_a_permit.rs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn code_without_a_permit_does_not_compile() {
    for (case, error) in [
        (
            "made_up.rs",
            "error[E0451]: fields `call`, `tool`, `reach`, `zone`, `confinement` and `approval` of struct `PermittedCall` are private",
        ),
        ("not_judged.rs", "error[E0308]: mismatched types"),
        ("used_twice.rs", "error[E0382]: use of moved value: `permit`"),
        ("changed_after.rs", "error[E0596]: cannot borrow data in a `&` reference as mutable"),
    ] {
        assert_eq!(errors(case), error, "{case}");
    }
}
