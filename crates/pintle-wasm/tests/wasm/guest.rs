//! Tiny guests, written as text.

/// A component of the world `plugin` whose functions have these bodies. In a body, locals 0 to 3 are the arguments, `$ok` and `$err` take
/// a place and a length and give the answer, and `$log`, `$now` and `$read` are the host's. The texts are at 1024, one after
/// another, each with 4096 bytes.
pub(crate) fn guest(texts: &[&str], activate: &str, handle: &str) -> Vec<u8> {
    guest_with(texts, "", activate, handle)
}

/// The same with more items in its module, such as a second memory.
pub(crate) fn guest_with(texts: &[&str], more: &str, activate: &str, handle: &str) -> Vec<u8> {
    let quoted =
        |text: &str| -> String { text.bytes().map(|byte| format!("\\{byte:02x}")).collect() };
    let data: String = texts
        .iter()
        .enumerate()
        .map(|(at, text)| format!("(data (i32.const {}) \"{}\")\n", place(at), quoted(text)))
        .collect();
    let text = format!(
        r#"(component
  (import "pintle:plugin/host@0.1.0" (instance $host
    (export "log" (func (param "line" string)))
    (export "now" (func (result (result u64 (error string)))))
    (export "read-file" (func (param "path" string) (result (result string (error string)))))))
  (core module $libc
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 65536))
    (func (export "reset") (global.set $next (i32.const 65536)))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.set $next (i32.add (local.get $at) (local.get 3)))
      (block $fits
        (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
        (drop (memory.grow (i32.add (i32.div_u (local.get 3) (i32.const 65536)) (i32.const 1)))))
      (local.get $at)))
  (core instance $libc (instantiate $libc))
  (core func $log (canon lower (func $host "log") (memory (core memory $libc "memory"))))
  (core func $now (canon lower (func $host "now") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $read (canon lower (func $host "read-file") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core module $guest
    (import "libc" "memory" (memory 2))
    (import "libc" "reset" (func $reset))
    (import "host" "log" (func $log (param i32 i32)))
    (import "host" "now" (func $now (param i32)))
    (import "host" "read-file" (func $read (param i32 i32 i32)))
    {data}
    {more}
    (func $answer (param i32 i32 i32) (result i32)
      (call $reset)
      (i32.store8 (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.store (i32.const 24) (local.get 2))
      (i32.const 16))
    (func $ok (param i32 i32) (result i32) (call $answer (i32.const 0) (local.get 0) (local.get 1)))
    (func $err (param i32 i32) (result i32) (call $answer (i32.const 1) (local.get 0) (local.get 1)))
    (func (export "activate") (param i32 i32) (result i32) {activate})
    (func (export "handle") (param i32 i32 i32 i32) (result i32) {handle}))
  (core instance $guest (instantiate $guest
    (with "libc" (instance $libc))
    (with "host" (instance (export "log" (func $log)) (export "now" (func $now)) (export "read-file" (func $read))))))
  (func (export "activate") (param "context" string) (result (result string (error string)))
    (canon lift (core func $guest "activate") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (func (export "handle") (param "event" string) (param "context" string) (result (result string (error string)))
    (canon lift (core func $guest "handle") (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")))))"#
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Where a text is.
pub(crate) fn place(text: usize) -> usize {
    1024 + text * 4096
}

/// A body that answers with a text.
pub(crate) fn says(how: &str, number: usize, text: &str) -> String {
    format!("(call ${how} (i32.const {}) (i32.const {}))", place(number), text.len())
}

/// A guest that activates, and whose `handle` has this body; its texts begin with `null`.
pub(crate) fn handling(texts: &[&str], handle: &str) -> Vec<u8> {
    let all: Vec<&str> = ["null"].into_iter().chain(texts.iter().copied()).collect();
    guest(&all, &says("ok", 0, "null"), handle)
}
