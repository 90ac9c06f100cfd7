//! The socket between the host and its launcher: the order goes in; failures, the proxy's listener and the exit come out.
//!
//! It is the launcher's standard input, so neither side needs a descriptor by number. When the host dies, the launcher
//! sees the socket close.

use std::{
    ffi::OsString,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    net::TcpListener,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::PathBuf,
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};

use crate::{Tier, plan::Plan};

/// The largest order: more than the kernel takes as arguments and environment of most programs.
const MOST_BYTES: usize = 1024 * 1024;

/// What the launcher is to do.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) plan: Plan,
    pub(crate) layers: Layers,
    /// The program to run; none to try the sandbox without running anything.
    pub(crate) program: Option<PathBuf>,
    pub(crate) args: Vec<OsString>,
    /// The whole environment, as `NAME=value`.
    pub(crate) env: Vec<OsString>,
}

/// Which mechanisms hold the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layers {
    pub(crate) namespaces: bool,
    pub(crate) landlock: bool,
}

impl Layers {
    pub(crate) fn of(tier: Tier) -> Self {
        Self { namespaces: tier.has_namespaces(), landlock: tier.has_landlock() }
    }
}

/// The part of an order that is JSON; arguments and environment follow it, each after a NUL.
#[derive(Serialize, Deserialize)]
struct Head {
    plan: Plan,
    layers: Layers,
    program: Option<PathBuf>,
    args: usize,
}

/// What the launcher says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The sandbox is set up, and there was nothing to run.
    Ready,
    /// The listener of the proxy comes with this message.
    Listener,
    /// Nothing was run.
    Failed(String),
    /// The program was killed by a signal.
    Signal(i32),
}

/// A connected pair; messages keep their boundaries.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    for end in [&pair.0, &pair.1] {
        // As large as the kernel allows; a smaller buffer only makes a huge order fail.
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(end, MOST_BYTES);
    }
    Ok(pair)
}

impl Order {
    pub(crate) fn send(self, to: impl AsFd, streams: &[OwnedFd; 3]) -> io::Result<()> {
        let head = Head {
            plan: self.plan,
            layers: self.layers,
            program: self.program,
            args: self.args.len(),
        };
        let mut bytes = serde_json::to_vec(&head)?;
        for text in self.args.iter().chain(&self.env) {
            // It would end one text and begin another.
            if text.as_bytes().contains(&0) {
                let message = "an argument or a variable has a NUL byte";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            bytes.push(0);
            bytes.extend_from_slice(text.as_bytes());
        }
        let streams = streams.each_ref().map(AsFd::as_fd);
        send(to, &bytes, &streams).map_err(|error| {
            let length = bytes.len();
            let what = format!("the launcher could not be given its order of {length} bytes");
            io::Error::new(error.kind(), format!("{what}: {error}"))
        })
    }

    /// Reads the order and leaves it in the socket for the next stage.
    pub(crate) fn peek(from: impl AsFd) -> io::Result<Self> {
        let (bytes, _) = receive(from, RecvFlags::PEEK)?;
        Self::parse(&bytes)
    }

    /// Takes the order, with the streams of the program.
    pub(crate) fn take(from: impl AsFd) -> io::Result<(Self, [OwnedFd; 3])> {
        let (bytes, streams) = receive(from, RecvFlags::empty())?;
        let streams =
            streams.try_into().map_err(|_| io::Error::other("the order has no streams"))?;
        Ok((Self::parse(&bytes)?, streams))
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let mut parts = bytes.split(|byte| *byte == 0);
        let Head { plan, layers, program, args } =
            serde_json::from_slice(parts.next().unwrap_or_default())?;
        let mut texts = parts.map(|text| OsString::from_vec(text.to_vec()));
        let args = texts.by_ref().take(args).collect();
        Ok(Self { plan, layers, program, args, env: texts.collect() })
    }
}

impl Message {
    pub(crate) fn send(&self, to: impl AsFd) -> io::Result<()> {
        send(to, &serde_json::to_vec(self)?, &[])
    }

    pub(crate) fn send_listener(to: impl AsFd, listener: &TcpListener) -> io::Result<()> {
        send(to, &serde_json::to_vec(&Self::Listener)?, &[listener.as_fd()])
    }

    /// The next message and the descriptors that came with it; `None` when the launcher is gone.
    pub(crate) fn receive(from: impl AsFd) -> io::Result<Option<(Self, Vec<OwnedFd>)>> {
        let (bytes, fds) = receive(from, RecvFlags::DONTWAIT)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&bytes)?, fds)))
    }
}

fn send(to: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    sendmsg(to, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(from: impl AsFd, flags: RecvFlags) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let is_peek = flags.contains(RecvFlags::PEEK);
    // How long the message is, before room is made for it.
    let mut none = [0_u8; 0];
    let mut no_control = RecvAncillaryBuffer::default();
    let look = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
    let length =
        recvmsg(from.as_fd(), &mut [IoSliceMut::new(&mut none)], &mut no_control, look)?.bytes;
    let mut bytes = vec![0; length];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut control = match is_peek {
        true => RecvAncillaryBuffer::default(),
        false => RecvAncillaryBuffer::new(&mut space),
    };
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let got = recvmsg(from, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    if got.flags.contains(ReturnFlags::TRUNC) || got.bytes != length {
        return Err(io::Error::other("a message was cut"));
    }
    let fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok((bytes, fds.flatten().collect()))
}
