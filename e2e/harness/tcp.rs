use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::failure::{Context, Failure};

static NEXT_ADDRESS: AtomicU32 = AtomicU32::new(0);

/// A loopback address that no other caller gets: a pod's IP on which a test can really listen.
///
/// The second number comes from the process id, so that two test programs at once rarely meet. Linux answers on all
/// of 127.0.0.0/8; elsewhere the addresses have to be configured first.
pub fn loopback_address() -> Ipv4Addr {
    let number = NEXT_ADDRESS.fetch_add(1, Ordering::Relaxed) % (250 * 250);
    let octet = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
    Ipv4Addr::new(127, octet(32 + std::process::id() % 200), octet(number / 250), octet(1 + number % 250))
}

/// A port that accepts connections and says nothing, as a database's port does during recovery. Closed when dropped.
pub struct OpenPort {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    acceptor: JoinHandle<()>,
}

impl OpenPort {
    /// Listens on that address and port.
    pub async fn at(address: Ipv4Addr, port: u16) -> Result<Self, Failure> {
        let listener = TcpListener::bind((address, port))
            .await
            .context(format_args!("cannot listen on {address}:{port}; is another test running?"))?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let acceptor = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((connection, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                open.push(connection);
            }
        });
        Ok(Self { address, connections, acceptor })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections it has accepted so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}
