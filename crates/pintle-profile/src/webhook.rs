//! Where a webhook may go (R10.5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Whether an address must never be called: link-local, metadata services, and what means "nowhere" or "everyone".
/// To be asked again for every address DNS gives.
#[must_use]
pub fn is_forbidden_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => forbidden_v6(v6),
    }
}

fn forbidden_v4(address: Ipv4Addr) -> bool {
    // Alibaba's, Oracle's and Azure's metadata services are not link-local.
    let metadata = [
        Ipv4Addr::new(100, 100, 100, 200),
        Ipv4Addr::new(192, 0, 0, 192),
        Ipv4Addr::new(168, 63, 129, 16),
    ];
    address.is_link_local()
        || address.is_unspecified()
        || address.is_broadcast()
        || address.is_multicast()
        || address.octets().first() == Some(&0)
        || metadata.contains(&address)
}

fn forbidden_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = embedded_v4(address) {
        // Such an address is routed like any other: 127.0.0.1 in it is not this machine.
        let is_a_trick = inner.is_loopback() && address.to_ipv4_mapped().is_none();
        return forbidden_v4(inner) || is_a_trick;
    }
    let metadata = [
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), // AWS
        Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23), // and what hands credentials to its pods
        Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), // Google
        Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe), // Oracle
        Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),  // Scaleway
    ];
    address.is_unicast_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || metadata.contains(&address)
}

/// The IPv4 address inside `::ffff:a.b.c.d`, `::a.b.c.d`, `64:ff9b::a.b.c.d`, `64:ff9b:1:…:a.b.c.d` or `2002:…`.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(join(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(join(high, low)),
        [0x64, 0xff9b, 1, .., high, low] => Some(join(high, low)),
        [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

/// Whether the address is this machine itself: `127.…`, `::1`, or the first as `::ffff:127.…`.
#[must_use]
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// What the host of this URL is, as written, if it is one that must never be called.
pub(crate) fn forbidden_host(url: &Url) -> Option<&'static str> {
    let address: IpAddr = match url.host()? {
        Host::Ipv4(v4) => v4.into(),
        Host::Ipv6(v6) => v6.into(),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let metadata = ["metadata.google.internal", "metadata", "instance-data"];
            return metadata.contains(&name.as_str()).then_some("a metadata service");
        }
    };
    if !is_forbidden_address(address) {
        return None;
    }
    let v4 = match address {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(v6) => embedded_v4(v6),
    };
    let nowhere = v4.is_some_and(|v4| v4.octets().first() == Some(&0));
    let everyone = v4.is_some_and(|v4| v4.is_broadcast() || v4.is_multicast());
    let elsewhere = v4.is_some_and(|v4| v4.is_loopback());
    Some(if elsewhere {
        "another machine's address that looks like this one's (this one is 127.0.0.1 or [::1])"
    } else if nowhere || address.is_unspecified() {
        "the address of no machine (this one is 127.0.0.1)"
    } else if everyone || address.is_multicast() {
        "the address of many machines at once"
    } else {
        "a link-local or metadata address"
    })
}

/// The URL of a webhook, if it may be one at all: https, or http to this machine; no user info, no forbidden address.
///
/// # Errors
/// With what is wrong, in words that say how to fix it.
pub fn webhook_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| {
        format!("it is not a URL ({error}): write one like https://example.com/hook")
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it carries a user name or password: use `secretEnv` to sign the request instead"
                .into(),
        );
    }
    let Some(host) = url.host() else {
        return Err("it has no host: write one like https://example.com/hook".into());
    };
    let local = match host {
        Host::Ipv4(v4) => is_loopback(v4.into()),
        Host::Ipv6(v6) => is_loopback(v6.into()),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    };
    if let Some(what) = forbidden_host(&url) {
        return Err(format!("it is {what}: a webhook must never go there"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if local => Ok(url),
        "http" => {
            Err("plain http is only for this machine (localhost, 127.0.0.1, [::1]): use https"
                .into())
        }
        other => Err(format!("`{other}` is not a webhook's scheme: use https")),
    }
}

/// The operator's list of where webhooks may go: origins, each with a path that covers what is below it.
#[derive(Debug, Clone, Default)]
pub struct WebhookAllowlist {
    entries: Vec<Url>,
}

impl WebhookAllowlist {
    /// Reads the entries, each a URL like `https://example.com/hooks/`.
    ///
    /// # Errors
    /// With the entry that is not a webhook's URL, and why.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let entries = entries
            .into_iter()
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
            .map(|entry| allowlist_entry(entry).map_err(|why| format!("webhook allowlist: {why}")))
            .collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Whether the operator has listed nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the URL is covered: same scheme, host and port, and a path at or below an entry's. Compared as parsed,
    /// never as text. An empty list covers nothing.
    #[must_use]
    pub fn allows(&self, url: &Url) -> bool {
        let plain = url.username().is_empty() && url.password().is_none();
        plain
            && self
                .entries
                .iter()
                .any(|entry| same_origin(entry, url) && path_covers(entry.path(), url.path()))
    }
}

/// One entry of the operator's list.
pub(crate) fn allowlist_entry(entry: &str) -> Result<Url, String> {
    match webhook_url(entry.trim()) {
        Ok(url) if url.query().is_some() || url.fragment().is_some() => {
            Err(format!("`{entry}`: an entry has no `?` or `#`: write an origin and a path"))
        }
        Ok(url) if url.host_str().is_some_and(|host| host.contains('*')) => Err(format!(
            "`{entry}`: `*` stands for nothing here: name each host, like https://hooks.example.com/"
        )),
        Ok(url) if url.path().contains('*') => {
            let above = url.path().split('*').next().and_then(|it| it.rsplit_once('/'));
            let above = above.map_or("", |(above, _)| above);
            Err(format!(
                "`{entry}`: `*` stands for nothing here, and an entry covers all that is below it: write {}{above}/",
                url.origin().ascii_serialization()
            ))
        }
        Ok(url) => Ok(url),
        Err(why) => Err(format!("`{entry}`: {why}")),
    }
}

fn same_origin(entry: &Url, url: &Url) -> bool {
    let host = |u: &Url| u.host_str().map(|h| h.trim_end_matches('.').to_owned());
    entry.scheme() == url.scheme()
        && host(entry) == host(url)
        && entry.port_or_known_default() == url.port_or_known_default()
}

/// Whether `path` is `entry` or below it, part by part: `/hook` does not cover `/hooks`.
fn path_covers(entry: &str, path: &str) -> bool {
    // A server may decode these into separators or dots after we have compared.
    let lower = path.to_ascii_lowercase();
    let tricks = ["%2f", "%5c", "%2e", "%00", "\\", "..;", ".;"];
    if tricks.iter().any(|trick| lower.contains(trick)) {
        return false;
    }
    let base = entry.trim_end_matches('/');
    path == base || path.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'))
}
