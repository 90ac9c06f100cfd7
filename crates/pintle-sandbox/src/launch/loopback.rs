//! `ip link set lo up`, over netlink.

use std::io;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink::SocketAddrNetlink, recv,
    sendto, socket_with,
};

/// Switches on the loopback interface of this network namespace.
pub(super) fn up() -> io::Result<()> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = Vec::with_capacity(32);
    request.extend_from_slice(&32_u32.to_ne_bytes()); // length
    request.extend_from_slice(&16_u16.to_ne_bytes()); // RTM_NEWLINK
    request.extend_from_slice(&5_u16.to_ne_bytes()); // NLM_F_REQUEST | NLM_F_ACK
    request.extend_from_slice(&1_u32.to_ne_bytes()); // sequence number
    request.extend_from_slice(&0_u32.to_ne_bytes()); // port
    request.extend_from_slice(&0_u32.to_ne_bytes()); // AF_UNSPEC and the link's type
    request.extend_from_slice(&1_i32.to_ne_bytes()); // index of lo
    request.extend_from_slice(&1_u32.to_ne_bytes()); // IFF_UP
    request.extend_from_slice(&1_u32.to_ne_bytes()); // which flags change
    sendto(&socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = [0_u8; 64];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let code = answer.get(16..20).filter(|_| length >= 20).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(-error)),
        None => Err(io::Error::other("netlink gave no answer")),
    }
}
