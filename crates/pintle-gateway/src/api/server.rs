//! Listening: a bounded number of connections, and none that sends its head byte by byte.

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
    /// Others can reach the address, and nothing keeps them out.
    #[error("{0} can be reached from other machines, and there is no token that keeps them out")]
    NoToken(SocketAddr),
    /// The system refuses the address.
    #[error("{address} cannot be listened on: {error}")]
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
                // The system is out of files, say: a moment later it may not be.
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
                    // A connection that breaks is the caller's matter.
                    _ = connection => {}
                }
                drop(slot);
            });
        }
        connections.close();
        connections.wait().await;
    }
}
