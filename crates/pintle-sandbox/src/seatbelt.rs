//! A policy as a profile of macOS's `sandbox-exec`.
//!
//! This is text, and the tests below check the text. It has not run on macOS yet, so [`Sandbox::probe`](crate::Sandbox::probe)
//! finds no tier there.

use std::path::Path;

use crate::{Policy, policy::Network, proxy::PORT};

/// What every program needs to start: the loader, its own process, the services that `libSystem` asks.
const BASE: &str = r#"(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
    (global-name "com.apple.system.opendirectoryd.libinfo")
    (global-name "com.apple.system.logger"))
(allow file-read-metadata)
(allow file-read* file-write-data
    (literal "/dev/null") (literal "/dev/zero") (literal "/dev/random") (literal "/dev/urandom"))
(allow file-read* (subpath "/System") (subpath "/Library/Apple") (literal "/") (literal "/private/var/db/timezone"))
(allow pseudo-tty)
"#;

impl Policy {
    /// The policy as a profile for `sandbox-exec -p`. A later rule wins over an earlier one, so what is closed comes last.
    #[must_use]
    pub fn to_seatbelt(&self) -> String {
        let mut profile = BASE.to_owned();
        let mut rule = |verb: &str, what: &str, path: &Path| {
            profile.push_str(&format!("({verb} {what} (subpath {}))\n", quoted(path)));
        };
        for path in &self.read {
            rule("allow", "file-read*", path);
        }
        // Copies on write need a mount: without one the caches are read-only.
        for path in &self.caches {
            rule("allow", "file-read*", path);
        }
        for path in self.write.iter().chain(&self.tmp) {
            rule("allow", "file-read* file-write*", path);
        }
        for path in &self.protect {
            rule("deny", "file-write*", path);
        }
        for path in &self.hide {
            rule("deny", "file-read* file-write*", path);
        }
        profile.push_str(&self.network.to_seatbelt());
        profile
    }
}

impl Network {
    fn to_seatbelt(&self) -> String {
        match self {
            Self::None => String::new(),
            Self::Loopback => {
                "(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n"
                    .to_owned()
            }
            Self::Proxy(_) => {
                format!("(allow network-outbound (remote ip \"localhost:{PORT}\"))\n")
            }
            Self::Direct => {
                "(allow network*)\n(allow mach-lookup (global-name \"com.apple.dnssd.service\"))\n"
                    .to_owned()
            }
        }
    }
}

/// A path as a string of the profile's language.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Hosts;

    fn policy(network: Network) -> Policy {
        Policy {
            read: vec!["/usr".into()],
            write: vec!["/Users/a/work".into()],
            protect: vec!["/Users/a/work/.git/hooks".into()],
            hide: vec!["/Users/a/.ssh".into()],
            network,
            ..Policy::default()
        }
    }

    // R17.9
    #[test]
    fn the_text_closes_after_it_opens() {
        let text = policy(Network::None).to_seatbelt();
        let at = |line: &str| text.find(line).unwrap_or_else(|| panic!("{line} is not in {text}"));
        assert!(at("(deny default)") < at("(allow file-read* (subpath \"/usr\"))"));
        let open = at("(allow file-read* file-write* (subpath \"/Users/a/work\"))");
        assert!(open < at("(deny file-write* (subpath \"/Users/a/work/.git/hooks\"))"));
        assert!(open < at("(deny file-read* file-write* (subpath \"/Users/a/.ssh\"))"));
        assert!(!text.contains("network"));
    }

    #[test]
    fn the_network_is_as_wide_as_the_policy() {
        let loopback = policy(Network::Loopback).to_seatbelt();
        assert!(
            loopback.contains("(remote ip \"localhost:*\")")
                && !loopback.contains("(allow network*)")
        );
        let proxy = policy(Network::Proxy(Hosts::Public)).to_seatbelt();
        assert!(proxy.contains("(allow network-outbound (remote ip \"localhost:3128\"))"));
        assert!(policy(Network::Direct).to_seatbelt().contains("(allow network*)\n"));
    }

    #[test]
    fn a_path_cannot_end_its_string() {
        let mut policy = policy(Network::None);
        policy.write = vec!["/Users/a/\")(allow default)(x \"\\".into()];
        let text = policy.to_seatbelt();
        assert!(text.contains(r#"(subpath "/Users/a/\")(allow default)(x \"\\"))"#), "{text}");
        let parentheses = |text: &str| text.matches('(').count() == text.matches(')').count();
        assert!(parentheses(&text));
    }
}
