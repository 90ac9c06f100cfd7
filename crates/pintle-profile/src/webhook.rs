//! Where the operator lets webhooks go (R10.5). Addresses that none may go to are refused where they are sent.

use url::{Host, Url};

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
        is_plain(url)
            && self
                .entries
                .iter()
                .any(|entry| same_origin(entry, url) && path_covers(entry.path(), url.path()))
    }
}

/// One entry of the operator's list.
pub(crate) fn allowlist_entry(entry: &str) -> Result<Url, String> {
    match Url::parse(entry.trim()) {
        Ok(url) if !is_plain(&url) => {
            Err(format!("`{entry}`: an entry has no user name or password"))
        }
        Ok(url)
            if url.scheme() != "https" && !(url.scheme() == "http" && is_this_machine(&url)) =>
        {
            Err(format!(
                "`{entry}`: use https; plain http is only for this machine (localhost, 127.0.0.1, [::1])"
            ))
        }
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
        Err(error) => Err(format!(
            "`{entry}`: it is not a URL ({error}): write one like https://hooks.example.com/"
        )),
    }
}

/// Whether the URL says that it stays on this machine.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(v4)) => v4.is_loopback(),
        Some(Host::Ipv6(v6)) => v6.to_canonical().is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn is_plain(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none()
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
