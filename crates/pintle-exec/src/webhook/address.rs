//! Where a webhook may go (R10.5): https anywhere, http to loopback, and never to the addresses a machine uses to
//! talk about itself.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use pintle_http::reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::WebhookError;

/// Turns a host's name into addresses. The default asks the system.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// A URL that may be posted to, as far as it can be told before its name is resolved.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) url: Url,
    /// The URL itself says that it stays on this machine.
    pub(super) loopback: bool,
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, WebhookError> {
        let bad = |detail| WebhookError::Url { url: text.into(), detail };
        let url = webhook_url(text).map_err(bad)?;
        Ok(Self { loopback: says_loopback(&url), url })
    }
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
        let why = "it carries a user name or password: sign the request with a secret instead";
        return Err(why.into());
    }
    let refused = match url.host() {
        None => return Err("it has no host: write one like https://example.com/hook".into()),
        Some(Host::Domain(name)) => {
            let metadata = ["metadata.google.internal", "metadata", "instance-data"];
            let name = name.strip_suffix('.').unwrap_or(name);
            metadata.contains(&name).then_some("a metadata service")
        }
        Some(Host::Ipv4(ip)) => forbidden(ip.into()),
        Some(Host::Ipv6(ip)) => forbidden(ip.into()),
    };
    if let Some(what) = refused {
        return Err(format!("it is {what}: a webhook must never go there"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if says_loopback(&url) => Ok(url),
        "http" => {
            Err("plain http is only for this machine (localhost, 127.0.0.1, [::1]): use https"
                .into())
        }
        other => Err(format!("`{other}` is not a webhook's scheme: use https")),
    }
}

/// Whether the URL itself says that it stays on this machine.
fn says_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(ip)) => is_loopback(ip.into()),
        Some(Host::Ipv6(ip)) => is_loopback(ip.into()),
        None => false,
    }
}

/// What is wrong with sending to this address, if anything.
pub(super) fn forbidden(ip: IpAddr) -> Option<&'static str> {
    const METADATA: [IpAddr; 9] = [
        IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
        IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
        IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
        IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0023)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x0042)),
        IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254)),
        IpAddr::V6(Ipv6Addr::new(0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    ];
    let (written, ip) = (ip, plain(ip));
    let (link_local, broadcast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.is_broadcast() || ip.octets().starts_with(&[0])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), false),
    };
    if METADATA.contains(&ip) {
        Some("a cloud metadata address")
    } else if link_local {
        Some("a link-local address")
    } else if ip.is_unspecified() {
        Some("the address of no machine (this one is 127.0.0.1)")
    } else if ip.is_multicast() || broadcast {
        Some("no address of a single host")
    } else if ip.is_loopback() && !is_loopback(written) {
        Some("another machine's address that looks like this one's")
    } else {
        None
    }
}

/// Whether it is this machine. Other addresses with 127.0.0.1 in them are routed like any.
fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The IPv4 address an IPv6 one stands for (mapped, compatible, NAT64, 6to4), or the address itself.
fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| IpAddr::V4((u32::from(high) << 16 | u32::from(low)).into());
    match (a, b, [c, d, e, f]) {
        (0, 0, [0, 0, 0, 0xffff]) => v4(g, h),
        (0, 0, [0, 0, 0xffff, 0]) | (0x64, 0xff9b, [0, 0, 0, 0] | [1, ..]) => v4(g, h),
        (0, 0, [0, 0, 0, 0]) if (g, h) != (0, 1) && (g, h) != (0, 0) => v4(g, h),
        (0x2002, high, [low, ..]) => v4(high, low),
        _ => ip,
    }
}

/// Resolves a webhook's host and hands out only addresses that may be sent to. The client connects to the
/// address it is given and does not resolve again, so a name that resolves differently a second time gains nothing.
pub(super) struct CheckedDns {
    pub(super) loopback: bool,
    pub(super) lookup: Option<Lookup>,
}

impl Resolve for CheckedDns {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_string();
        let (loopback, lookup) = (self.loopback, self.lookup.clone());
        Box::pin(async move {
            let found: Vec<IpAddr> = match lookup {
                Some(lookup) => lookup(host.clone()).await?,
                None => {
                    tokio::net::lookup_host((host.as_str(), 0)).await?.map(|it| it.ip()).collect()
                }
            };
            let allowed = checked(&host, found, loopback)?;
            Ok(Box::new(allowed.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

/// A name that resolves to anything it should not is refused altogether: mixed answers are how it is tried.
fn checked(host: &str, found: Vec<IpAddr>, loopback: bool) -> Result<Vec<IpAddr>, RefusedAddress> {
    for ip in &found {
        let why = match forbidden(*ip) {
            Some(why) => why,
            None if is_loopback(*ip) && !loopback => "this machine, which the URL does not say",
            None if !is_loopback(*ip) && loopback => "not this machine, as the URL says",
            None => continue,
        };
        return Err(RefusedAddress { host: host.into(), ip: *ip, why });
    }
    Ok(found)
}

/// DNS led somewhere a webhook may not go.
#[derive(Debug, thiserror::Error)]
#[error("{host} resolves to {ip}, which is {why}")]
pub(super) struct RefusedAddress {
    host: String,
    ip: IpAddr,
    why: &'static str,
}
