//! What went wrong with a server, without the names of our own types.

use std::error::Error;

use rmcp::{ServiceError, service::ClientInitializeError, transport::DynamicTransportError};

pub(super) fn of_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".into(),
        other => other.to_string(),
    }
}

pub(super) fn of_call(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => of_transport(error),
        ServiceError::TransportClosed => "it closed the connection".into(),
        other => other.to_string(),
    }
}

/// The error itself, and the deepest cause, which says most.
fn of_transport(error: &DynamicTransportError) -> String {
    let said = error.error.to_string();
    let said = said.trim().trim_start_matches("Client error: ");
    let mut deepest: &dyn Error = &*error.error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let cause = deepest.to_string();
    let cause = cause.trim();
    if said.contains(cause) {
        format!("it cannot be spoken to: {said}")
    } else {
        format!("it cannot be spoken to: {said}: {cause}")
    }
}
