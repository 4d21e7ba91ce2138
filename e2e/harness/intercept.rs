use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{self, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Either;
use kube::client::Body;
use serde_json::Value;
use tower::{BoxError, Layer, Service};

/// A request as it goes to the API server.
#[derive(Debug, Clone)]
pub struct Seen {
    /// kube's name of the operation: `get`, `list`, `watch`, `create`, `patch`, … Empty for requests made by hand.
    pub operation: &'static str,
    /// The HTTP method.
    pub method: Method,
    /// The path without the query.
    pub path: String,
    /// The query, as it stands in the URL.
    pub query: String,
    /// Says which kind of patch it is.
    pub content_type: String,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

impl Seen {
    /// Whether it asks for a change, be it dry.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD
    }

    /// Whether the server is told to change nothing.
    pub fn is_dry_run(&self) -> bool {
        self.query.split('&').any(|parameter| parameter == "dryRun=All")
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What becomes of a request.
#[derive(Debug, Clone)]
pub enum Fate {
    /// The server gets it, and the caller its answer.
    Send,
    /// The server never sees it; this is the answer.
    Answer(StatusCode, Value),
    /// The server never sees it; the caller gets a connection error.
    Break,
    /// The server does what it asks for, but the caller gets a connection error.
    LoseAnswer,
}

type Hook = Arc<dyn Fn(Seen) -> BoxFuture<'static, Fate> + Send + Sync>;

/// Stands between a client and the API server: records every request, and may act before one is sent, such as
/// deleting the very object that it is about to patch.
#[derive(Clone)]
pub struct Intercept {
    hook: Hook,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Intercept {
    /// Only records.
    pub fn recording() -> Self {
        Self::before_each(|_| async { Fate::Send })
    }

    /// Runs `hook` before each request and waits for it; what it returns is done with the request.
    pub fn before_each<Hook, Decision>(hook: Hook) -> Self
    where
        Hook: Fn(Seen) -> Decision + Send + Sync + 'static,
        Decision: Future<Output = Fate> + Send + 'static,
    {
        Self { hook: Arc::new(move |seen| Box::pin(hook(seen))), seen: Arc::default() }
    }

    /// All requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those among them that ask for a change, dry runs included.
    pub fn writes(&self) -> Vec<Seen> {
        self.requests().into_iter().filter(Seen::is_write).collect()
    }

    /// How often kube's operation of that name was asked for.
    pub fn count(&self, operation: &str) -> usize {
        self.requests().iter().filter(|seen| seen.operation == operation).count()
    }

    /// Forgets what it has recorded.
    pub fn forget(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl fmt::Debug for Intercept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Intercept").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl<Inner> Layer<Inner> for Intercept {
    type Service = Intercepted<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        // Behind a lock, since a client's service need not be `Clone`, and the request is sent after the hook.
        Intercepted { inner: Arc::new(tokio::sync::Mutex::new(inner)), intercept: self.clone() }
    }
}

/// The service that [`Intercept`] makes of a client's service.
pub struct Intercepted<Inner> {
    inner: Arc<tokio::sync::Mutex<Inner>>,
    intercept: Intercept,
}

impl<Inner, ResponseBody> Service<Request<Body>> for Intercepted<Inner>
where
    Inner: Service<Request<Body>, Response = Response<ResponseBody>> + Send + 'static,
    Inner::Future: Send,
    Inner::Error: Into<BoxError>,
{
    type Response = Response<Either<ResponseBody, Body>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let inner = Arc::clone(&self.inner);
        let intercept = self.intercept.clone();
        Box::pin(async move {
            // Empty for streams, which this client never sends.
            let copy = request.body().try_clone().unwrap_or_else(Body::empty);
            let body = copy.collect_bytes().await?.to_vec();
            let seen = see(&request, body);
            intercept.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen.clone());
            let fate = (intercept.hook)(seen).await;
            if let Fate::Answer(status, body) = fate {
                let body = Either::Right(Body::from(serde_json::to_vec(&body)?));
                return Ok(Response::builder().status(status).body(body)?);
            }
            if let Fate::Break = fate {
                return Err("connection reset before the request was sent".into());
            }
            let answer = {
                let mut inner = inner.lock().await;
                std::future::poll_fn(|context| inner.poll_ready(context)).await.map_err(Into::into)?;
                inner.call(request)
            };
            let answer = answer.await.map_err(Into::into)?;
            if let Fate::LoseAnswer = fate {
                return Err("connection reset before the answer arrived".into());
            }
            Ok(answer.map(Either::Left))
        })
    }
}

/// The body apart, because a reference to it cannot be kept across an `await` of a `Send` future.
fn see(request: &Request<Body>, body: Vec<u8>) -> Seen {
    let header = request.headers().get(http::header::CONTENT_TYPE);
    Seen {
        operation: request.extensions().get::<&'static str>().copied().unwrap_or_default(),
        method: request.method().clone(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().trim_start_matches('&').to_owned(),
        content_type: header.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned(),
        body,
    }
}
