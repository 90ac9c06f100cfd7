//! The HTTP client that webhooks, MCP servers and model providers share: reqwest over rustls, with ring as the only
//! cryptography. `aws-lc`, the usual choice, is a C build of minutes.

#![forbid(unsafe_code)]

pub use reqwest;

/// Starts a client. Clients are built here only: reqwest panics where no cryptography is installed.
///
/// A program that has installed another provider of rustls keeps it.
pub fn client() -> reqwest::ClientBuilder {
    // The error says that a provider is installed already, which is what is wanted.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::{io::AsyncReadExt, net::TcpListener};

    #[tokio::test]
    async fn a_client_begins_a_tls_handshake_without_any_setup_by_the_program() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let client = super::client().no_proxy().build().unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_u8().await.unwrap()
        };
        let (answer, first_byte) = tokio::join!(client.get(url).send(), server);
        assert_eq!(first_byte, 0x16, "a TLS record that holds a handshake");
        assert!(answer.is_err(), "the server hung up");
    }
}
