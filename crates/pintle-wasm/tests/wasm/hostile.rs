//! Guests that mean harm: contained, recorded, and no harm to their neighbours.

use std::sync::{Arc, Mutex};

use pintle::{Cx, FailureKind, FireRecord, HandlerOutcome, Hooks, points::BeforePromptBuild};
use pintle_plugins::{Capability, Entry, Grants, Kind, Manifest, Plugins};
use pintle_wasm::{Limits, WasmError, WasmHost};

use crate::guest::{guest_with, handling, place, says};

const PATCH: &str = r#"{"appendSystem":"from the neighbour"}"#;

fn manifest(id: &str) -> Manifest {
    let mut manifest = Manifest::native(id, "1.0.0").point("before_prompt_build");
    for capability in ["amend:prompt", "clock", "read:/usr/share/pintle-test"] {
        manifest = manifest.capability(capability).unwrap();
    }
    manifest.kind = Kind::Wasm;
    manifest.entry = Some(Entry::File("guest.wasm".into()));
    manifest
}

/// Bounds that are reached within milliseconds.
fn small() -> Limits {
    Limits { memory: 8 * 1024 * 1024, fuel: 20_000_000, host_calls: 50, ..Limits::default() }
}

/// A guest beside a well-behaved neighbour, fired: how its call failed, what it logged, and what the neighbour added.
async fn beside_a_neighbour(
    bytes: &[u8],
    grants: Grants,
) -> (Option<(FailureKind, String)>, Vec<String>) {
    let logged: Arc<Mutex<Vec<String>>> = Arc::default();
    let last: Arc<Mutex<Option<Arc<FireRecord>>>> = Arc::default();
    let (lines, record) = (logged.clone(), last.clone());
    let host = WasmHost::new(small(), None, move |_, line| lines.lock().unwrap().push(line.into()))
        .unwrap();
    let sink = move |it: Arc<FireRecord>| *record.lock().unwrap() = Some(it);
    let hooks = Hooks::builder().sink(Arc::new(sink)).build();
    let plugins = Plugins::new(hooks.clone());
    let guest = host.plugin(manifest("guest"), bytes, &grants).unwrap();
    plugins.load(Arc::new(guest), &grants).await.unwrap();
    let neighbour = handling(&[PATCH], &says("ok", 1, PATCH));
    let neighbour = host.plugin(manifest("neighbour"), &neighbour, &Grants::All).unwrap();
    plugins.load(Arc::new(neighbour), &Grants::All).await.unwrap();
    for _ in 0..3 {
        let merged = hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await.unwrap();
        assert_eq!(merged.append_system.as_deref(), Some("from the neighbour"));
    }
    plugins.shutdown().await;
    let record = last.lock().unwrap().take().unwrap();
    let failure = match &record.handlers[0].outcome {
        HandlerOutcome::Failed(failure) => Some((failure.kind, failure.message.clone())),
        _ => None,
    };
    let logged = std::mem::take(&mut *logged.lock().unwrap());
    (failure, logged)
}

async fn failure(handle: &str) -> (FailureKind, String) {
    let amends = Grants::only([Capability::Patch("amend:prompt".into())]);
    beside_a_neighbour(&handling(&["/etc/passwd", "hello"], handle), amends).await.0.unwrap()
}

// P5
#[tokio::test]
async fn an_endless_loop_runs_out_of_fuel() {
    let (kind, why) = failure("(loop $again (br $again)) unreachable").await;
    assert_eq!(kind, FailureKind::TimedOut);
    assert!(why.contains("20000000 units of fuel"), "{why}");
}

#[tokio::test]
async fn a_memory_bomb_gets_no_more_than_its_share() {
    let bomb = "(local $at i32)
        (loop $again
          (local.set $at (memory.grow (i32.const 16)))
          (if (i32.eq (local.get $at) (i32.const -1)) (then unreachable))
          (memory.fill (i32.mul (local.get $at) (i32.const 65536)) (i32.const 1) (i32.const 1048576))
          (br $again))
        unreachable";
    let resident = || {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        pages.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let before = resident();
    let (kind, why) = failure(bomb).await;
    assert_eq!(kind, FailureKind::Panicked, "{why}");
    assert!(resident() < before + 128 * 1024 * 1024, "{before} → {}", resident());
}

/// A guest whose `handle` fails with the number of pages that its instance got so far.
fn takes_all(more: &str, grow: &str) -> Vec<u8> {
    let body = format!(
        "(block $end (loop $again
          {grow}
          (global.set $got (i32.add (global.get $got) (i32.const 1)))
          (br $again)))
        (i32.store8 (i32.const 600) (i32.add (i32.const 48) (i32.div_u (global.get $got) (i32.const 100))))
        (i32.store8 (i32.const 601) (i32.add (i32.const 48) (i32.rem_u (i32.div_u (global.get $got) (i32.const 10)) (i32.const 10))))
        (i32.store8 (i32.const 602) (i32.add (i32.const 48) (i32.rem_u (global.get $got) (i32.const 10))))
        (call $err (i32.const 600) (i32.const 3))"
    );
    guest_with(
        &["null"],
        &format!("(global $got (mut i32) (i32.const 0)) {more}"),
        &says("ok", 0, "null"),
        &body,
    )
}

// R13.2: the bound is for all memories and tables of an instance together.
#[tokio::test]
async fn a_second_memory_or_a_table_is_no_second_share() {
    let both = "(if (i32.eq (memory.grow $second (i32.const 1)) (i32.const -1))
        (then (br_if $end (i32.eq (memory.grow (i32.const 1)) (i32.const -1)))))";
    let failed_first = "(drop (memory.grow (i32.const -1)))
        (br_if $end (i32.eq (memory.grow (i32.const 1)) (i32.const -1)))";
    // 8192 elements take as much as a page.
    let tables = "(if (i32.eq (table.grow $room (ref.null func) (i32.const 8192)) (i32.const -1))
        (then (br_if $end (i32.eq (memory.grow (i32.const 1)) (i32.const -1)))))";
    for (more, grow) in [
        ("", "(br_if $end (i32.eq (memory.grow (i32.const 1)) (i32.const -1)))"),
        ("(memory $second 0)", both),
        ("", failed_first),
        ("(table $room 0 funcref)", tables),
    ] {
        let amends = Grants::only([Capability::Patch("amend:prompt".into())]);
        let (failed, _) = beside_a_neighbour(&takes_all(more, grow), amends).await;
        // 8 MiB are 128 pages, and it began with two.
        assert_eq!(failed.unwrap().1, "126", "{more} {grow}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_too_much_output() {
    let (kind, why) = failure("(call $ok (i32.const 0) (i32.const 131072))").await;
    assert_eq!(kind, FailureKind::TooMuchOutput, "{why}");
    // Out of bounds altogether.
    let (kind, _) = failure("(call $ok (i32.const 0) (i32.const -1))").await;
    assert_eq!(kind, FailureKind::BadOutput);
}

#[tokio::test]
async fn a_trap_is_a_panic_and_the_next_call_gets_a_new_instance() {
    let (kind, why) = failure("unreachable").await;
    assert_eq!(kind, FailureKind::Panicked);
    assert!(why.contains("unreachable"), "{why}");
}

#[tokio::test]
async fn a_stack_without_end_is_a_trap() {
    let deep = "(call $deep) unreachable) (func $deep (call $deep)";
    assert_eq!(failure(deep).await.0, FailureKind::Panicked);
}

#[tokio::test]
async fn a_flood_of_calls_to_the_host_ends_the_call() {
    let flood = format!(
        "(loop $again (call $log (i32.const {}) (i32.const 5)) (br $again)) unreachable",
        place(2)
    );
    let guest = handling(&["/etc/passwd", "hello"], &flood);
    let (failed, logged) = beside_a_neighbour(&guest, Grants::All).await;
    assert_eq!(failed.unwrap().0, FailureKind::TooMuchOutput);
    assert_eq!((logged.len(), logged[0].as_str()), (3 * 50, "hello"));
}

#[tokio::test]
async fn garbage_is_bad_output() {
    assert_eq!(failure(&says("ok", 2, "hello")).await.0, FailureKind::BadOutput);
}

/// Reads the file and fails with what the host says.
fn reads(path: &str) -> Vec<u8> {
    let body = format!(
        "(call $read (i32.const {}) (i32.const {}) (i32.const 512))
         (call $err (i32.load (i32.const 516)) (i32.load (i32.const 520)))",
        place(1),
        path.len()
    );
    handling(&[path], &body)
}

// R13.2
#[tokio::test]
async fn a_file_is_read_only_with_a_grant_and_only_under_it() {
    let said = async |path: &str, grants: Grants| {
        let (failed, _) = beside_a_neighbour(&reads(path), grants).await;
        failed.unwrap().1
    };
    let without =
        said("/etc/passwd", Grants::only([Capability::Patch("amend:prompt".into())])).await;
    assert_eq!(without, "this plugin was not granted `read:/etc/passwd`");
    let outside = said("/etc/passwd", Grants::All).await;
    assert_eq!(outside, "this plugin was not granted `read:/etc/passwd`");
    let up = said("/usr/share/pintle-test/../../../etc/passwd", Grants::All).await;
    assert!(up.starts_with("this plugin was not granted"), "{up}");
}

#[tokio::test]
async fn a_granted_file_is_read_and_a_link_out_of_its_folder_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("note.txt");
    std::fs::write(&inside, "a note").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
    let host = WasmHost::new(small(), None, |_, _| {}).unwrap();
    for (file, expected) in [("note.txt", "a note"), ("link", "this plugin was not granted")] {
        let path = folder.path().join(file).display().to_string();
        let mut manifest = manifest("p");
        manifest.capabilities.push(Capability::Read(folder.path().display().to_string()));
        let hooks = Hooks::new();
        let plugins = Plugins::new(hooks.clone());
        manifest.points[0].fail_closed = true;
        let plugin = host.plugin(manifest, &reads(&path), &Grants::All).unwrap();
        plugins.load(Arc::new(plugin), &Grants::All).await.unwrap();
        let fired = hooks.fire_modifying(&Cx::test(), BeforePromptBuild::default).await;
        let error = fired.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn the_time_is_told_only_with_a_grant() {
    let body = "(call $now (i32.const 512))
        (if (result i32) (i32.load8_u (i32.const 512))
          (then (call $err (i32.load (i32.const 520)) (i32.load (i32.const 524))))
          (else (call $ok (i32.const 1024) (i32.const 4))))";
    let guest = handling(&[], body);
    let without = Grants::only([Capability::Patch("amend:prompt".into())]);
    let (failed, _) = beside_a_neighbour(&guest, without).await;
    assert_eq!(failed.unwrap().1, "this plugin was not granted `clock`");
    assert_eq!(beside_a_neighbour(&guest, Grants::All).await.0, None);
}

// R13.2
#[test]
fn a_component_that_wants_files_network_or_an_environment_does_not_load() {
    let host = WasmHost::new(Limits::default(), None, |_, _| {}).unwrap();
    for import in [
        "wasi:filesystem/preopens@0.2.0",
        "wasi:sockets/tcp@0.2.0",
        "wasi:cli/environment@0.2.0",
        "wasi:clocks/wall-clock@0.2.0",
    ] {
        let text = format!(r#"(component (import "{import}" (instance (export "f" (func)))))"#);
        let bytes = wat::parse_str(&text).unwrap();
        let error = host.plugin(manifest("p"), &bytes, &Grants::All).err().unwrap();
        assert!(matches!(error, WasmError::Imports(_)), "{error}");
        let said = error.to_string();
        assert!(said.contains(import) && said.contains("build it without WASI"), "{said}");
    }
    let module = wat::parse_str("(module)").unwrap();
    let error = host.plugin(manifest("p"), &module, &Grants::All).err().unwrap();
    assert!(matches!(error, WasmError::NotAComponent(_)), "{error}");
    let empty = wat::parse_str("(component)").unwrap();
    let error = host.plugin(manifest("p"), &empty, &Grants::All).err().unwrap();
    assert!(error.to_string().contains("there is no export `activate`"), "{error}");
}
