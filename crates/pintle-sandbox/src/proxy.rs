//! The way out of a network namespace: an HTTP proxy that checks and records every host.
//!
//! Its listening socket is made inside the namespace and handed to the host, which accepts on it and dials from its own
//! namespace. The process inside has no other route.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream, lookup_host},
    sync::Semaphore,
    time::timeout,
};

use crate::policy::Hosts;

/// The proxy's port inside the sandbox.
pub(crate) const PORT: u16 = 3128;

/// The variables that make programs use the proxy.
pub(crate) const VARIABLES: [&str; 11] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
    "CARGO_HTTP_PROXY",
];

/// How long a client may take to say what it wants, and a host to answer.
const HANDSHAKE: Duration = Duration::from_secs(20);
/// The longest head of a request.
const MOST_HEAD: u64 = 64 * 1024;
/// Connections at once.
const MOST_CONNECTIONS: usize = 256;
/// Hosts kept in the record.
const MOST_RECORDED: usize = 1000;

/// A host that a process asked the proxy for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostUse {
    /// `name:port`, as asked for.
    pub host: String,
    /// Whether the proxy let it through.
    pub allowed: bool,
}

impl fmt::Display for HostUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.allowed { "reached" } else { "the sandbox refused" };
        write!(f, "{what} {}", self.host)
    }
}

/// The hosts that were asked for, each once. Clones are handles on the same log.
#[derive(Debug, Clone, Default)]
pub struct HostLog(Arc<Mutex<Vec<HostUse>>>);

impl HostLog {
    fn lock(&self) -> MutexGuard<'_, Vec<HostUse>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn entries(&self) -> Vec<HostUse> {
        self.lock().clone()
    }

    /// Adds a host, if the log has room for it.
    pub fn add(&self, entry: HostUse) {
        let mut log = self.lock();
        if log.len() < MOST_RECORDED && !log.contains(&entry) {
            log.push(entry);
        }
    }

    /// What was asked for since it was last taken.
    #[must_use]
    pub fn take(&self) -> Vec<HostUse> {
        std::mem::take(&mut *self.lock())
    }
}

/// Serves until it is dropped.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    hosts: Hosts,
    log: HostLog,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let (hosts, room) = (Arc::new(hosts), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(permit) = room.clone().acquire_owned().await else { return Ok(()) };
        let (client, _) = listener.accept().await?;
        let (hosts, log) = (hosts.clone(), log.clone());
        connections.spawn(async move {
            let _permit = permit;
            let mut client = BufReader::new(client);
            if let Err(error) = connect(&mut client, &hosts, &log).await {
                let answer =
                    format!("HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n{error}\n");
                let _ = client.write_all(answer.as_bytes()).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

/// What a client asks for.
struct Request {
    host: String,
    port: u16,
    /// Of a request that is not a tunnel: its head, rewritten for the host.
    head: Option<String>,
}

async fn connect(
    client: &mut BufReader<TcpStream>,
    hosts: &Hosts,
    log: &HostLog,
) -> io::Result<()> {
    let head = timeout(HANDSHAKE, read_head(client)).await??;
    let Some(request) = parse(&head) else {
        return client.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await;
    };
    let name = format!("{}:{}", request.host, request.port);
    // The name that is compared is the name that is dialled: no character that two readers could read differently.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    let is_plain = !request.host.is_empty() && request.host.chars().all(is_plain);
    let addresses = match is_plain && is_allowed(&request.host, request.port, hosts) {
        true => public_addresses(&request.host, request.port).await,
        false => Ok(Vec::new()),
    };
    // A name that is allowed may still point inwards: its addresses are judged, then dialled.
    let addresses = match addresses {
        Ok(addresses) if addresses.is_empty() => {
            log.add(HostUse { host: name.escape_debug().to_string(), allowed: false });
            let answer = format!(
                "HTTP/1.1 403 Forbidden\r\nX-Pintle: refused\r\nConnection: close\r\n\r\nthe sandbox does not let this command reach {name}\n"
            );
            return client.write_all(answer.as_bytes()).await;
        }
        Ok(addresses) => addresses,
        Err(error) => {
            log.add(HostUse { host: name, allowed: true });
            return Err(error);
        }
    };
    log.add(HostUse { host: name, allowed: true });
    let mut upstream = timeout(HANDSHAKE, TcpStream::connect(&*addresses)).await??;
    match request.head {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(head) => upstream.write_all(head.as_bytes()).await?,
    }
    copy_bidirectional(client, &mut upstream).await.map(drop)
}

async fn read_head(client: &mut BufReader<TcpStream>) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut client = client.take(MOST_HEAD);
    loop {
        let mut line = String::new();
        if client.read_line(&mut line).await? == 0 {
            return Err(io::Error::other("the request has no end"));
        }
        if matches!(line.as_str(), "\r\n" | "\n") {
            return Ok(lines);
        }
        lines.push(line);
    }
}

fn parse(head: &[String]) -> Option<Request> {
    let (first, headers) = head.split_first()?;
    let mut words = first.split_ascii_whitespace();
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method == "CONNECT" {
        let (host, port) = split(target, 443)?;
        return Some(Request { host, port, head: None });
    }
    let rest = target.strip_prefix("http://")?;
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let (host, port) = split(authority, 80)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut head = format!("{method} {slash}{path} {version}\r\n");
    for line in headers {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if !name.starts_with("proxy-") && name != "connection" {
            head.push_str(line.trim_end());
            head.push_str("\r\n");
        }
    }
    head.push_str("Connection: close\r\n\r\n");
    Some(Request { host, port, head: Some(head) })
}

fn split(authority: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map_or(Some(default), |port| port.parse().ok())?;
    Some((host.trim_end_matches('.').to_ascii_lowercase(), port))
}

/// Whether the list names this host. Without a port an entry means 80 and 443.
fn is_allowed(host: &str, port: u16, hosts: &Hosts) -> bool {
    let Hosts::Only(hosts) = hosts else { return true };
    hosts.iter().any(|entry| {
        let (name, named_port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().ok()),
            None => (entry.as_str(), None),
        };
        let port_fits = named_port.map_or(port == 80 || port == 443, |named: u16| named == port);
        let name = name.to_ascii_lowercase();
        let name_fits = match name.strip_prefix("*.") {
            Some(parent) => host.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.')),
            None => host == name,
        };
        port_fits && name_fits
    })
}

async fn public_addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = timeout(HANDSHAKE, lookup_host((host, port))).await??;
    Ok(found.filter(|address| is_public(address.ip()) && !is_own(*address)).collect())
}

/// Whether an address is this machine's own, though a public one: a connection to it would come from itself.
fn is_own(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // Nothing is sent: the kernel only chooses a way.
    let from = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect(address)?;
        socket.local_addr()
    });
    from.is_ok_and(|from| from.ip() == address.ip())
}

/// Whether an address is on the public internet: not this machine, not its network, not a metadata service.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, ..] = v4.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = a == 192 && b == 0;
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    !(a == 0
        || a >= 224
        || v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_documentation()
        || is_shared
        || is_protocol
        || is_benchmark)
}

/// Global unicast, without the ranges that carry an IPv4 address which may be a private one.
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [first, second, ..] = v6.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_6to4 = first == 0x2002;
    let is_special = first == 0x2001 && (second < 0x200 || second == 0x0db8);
    is_global && !is_6to4 && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    // R17.7
    #[test]
    fn private_and_metadata_addresses_are_not_public() {
        for address in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "2002:a00:1::",
            "64:ff9b::a00:1",
            "2001:db8::1",
            "2001::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450:4001::1"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn an_address_of_this_machine_is_known_as_its_own() {
        assert!(is_own("127.0.0.1:9".parse().unwrap()));
        assert!(!is_own("192.0.2.1:9".parse().unwrap()));
    }

    #[test]
    fn a_host_is_compared_whole_and_with_its_port() {
        let hosts = Hosts::Only(vec![
            "example.org".into(),
            "*.example.com".into(),
            "git.example.net:22".into(),
        ]);
        for (host, port, allowed) in [
            ("example.org", 443, true),
            ("example.org", 80, true),
            ("example.org", 22, false),
            ("evil-example.org", 443, false),
            ("example.org.evil.net", 443, false),
            ("a.example.com", 443, true),
            ("example.com", 443, false),
            ("aexample.com", 443, false),
            ("git.example.net", 22, true),
            ("git.example.net", 443, false),
        ] {
            assert_eq!(is_allowed(host, port, &hosts), allowed, "{host}:{port}");
        }
        assert!(is_allowed("anything.example", 8443, &Hosts::Public));
    }

    #[test]
    fn a_request_is_read_as_it_will_be_dialled() {
        let read = |line: &str| parse(&[line.to_owned(), "Host: x\r\n".to_owned()]);
        let tunnel = read("CONNECT Example.ORG.:8443 HTTP/1.1\r\n").unwrap();
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.head), ("example.org", 8443, None));
        let plain = read("GET http://example.org/a?b HTTP/1.1\r\n").unwrap();
        assert_eq!(
            plain.head.as_deref(),
            Some("GET /a?b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        );
        let userinfo = read("GET http://example.org@10.0.0.1/ HTTP/1.1\r\n").unwrap();
        assert!(userinfo.host.contains('@'), "and a host with that character is refused");
        for line in
            ["GET / HTTP/1.1\r\n", "CONNECT a:b HTTP/1.1\r\n", "CONNECT a:1:2 HTTP/1.1\r\n", "\r\n"]
        {
            assert!(read(line).is_none(), "{line}");
        }
    }
}
