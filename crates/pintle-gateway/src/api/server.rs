//! Listens on an address. The number of connections is bounded, and so is the time in which a request's head must arrive.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long the head of a request may take to arrive, and how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECTIONS: usize = 512;
const LARGEST_HEAD: usize = 64 * 1024;

/// An address that is listened on.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Other machines can reach the address, and no token protects it.
    #[error("other machines can reach {0}, and no token protects it")]
    NoToken(SocketAddr),
    /// The system refuses the address.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
}

impl Server {
    /// Listens on an address. One that other machines reach needs a token.
    ///
    /// # Errors
    /// When the address cannot be used, or others could reach it without a token.
    pub async fn bind(address: SocketAddr, has_token: bool) -> Result<Self, ServeError> {
        if !address.ip().is_loopback() && !has_token {
            return Err(ServeError::NoToken(address));
        }
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let address = listener.local_addr()?;
            Ok(Self { listener, address })
        };
        bound.await.map_err(|error| ServeError::Bind { address, error })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is cancelled. Open connections are closed then.
    pub async fn run(self, router: Router, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let connections = TaskTracker::new();
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // The system may be out of file descriptors for a moment.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(LARGEST_HEAD);
            let service = TowerToHyperService::new(router.clone());
            let stop = stop.clone();
            connections.spawn(async move {
                let connection = builder.serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    () = stop.cancelled() => {}
                    // A broken connection is the caller's problem.
                    _ = connection => {}
                }
                drop(slot);
            });
        }
        connections.close();
        connections.wait().await;
    }
}
