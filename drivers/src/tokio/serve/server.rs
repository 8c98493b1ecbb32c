//! A server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::tokio::runtime::Handle;
use ::tokio::time::{Instant, sleep};
use rocload_core::llama::request::{Chat, Completion, Embeddings, Tokenize};

use super::generation::{Generation, explained};
use super::supervision::{self, Signals};
use crate::http::{self, Answer, Endpoint, Readiness};
use crate::process::{Excerpt, Swept, sweep};
use crate::serve::{
    self, Builder, Call, Class, Error, Launch, Ready, Shared, State, Visit, millis_of, texts,
};
use crate::tokio::Client;

/// Between two questions to a server at an address whether it is ready.
const ASK: Duration = Duration::from_millis(50);

/// The driver for tokio, for [`Builder`].
#[derive(Debug)]
pub enum Driver {}

/// A server that runs here, or one at an address. It can be used by several tasks at once.
///
/// Dropping it stops a server that was started here: a task of the runtime waits for its end and
/// kills it after its grace. It is killed at once when the runtime is shut down.
///
/// ```no_run
/// # async fn example() -> Result<(), rocload::serve::Error> {
/// use rocload::tokio::Server;
/// use rocload::llama::request::{Chat, Message};
///
/// let server = Server::builder("model.gguf").start().await?;
/// let answer = server.chat(&Chat::new(&[Message::user("hello")])).await?;
/// println!("{}", answer.text().await?);
/// server.stop(None).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    http: http::Options,
    key: Option<String>,
}

#[derive(Debug)]
enum Kind {
    Own(Own),
    At(Endpoint),
}

#[derive(Debug)]
struct Own {
    shared: Arc<Shared<Signals>>,
    /// How long its end may take when it is dropped.
    patience: Duration,
    swept: Swept,
}

impl Builder<Driver> {
    /// Starts the process, and returns once it runs; [`Server::ready`] waits for the model.
    ///
    /// Before that, servers are ended that a killed program of ours has left, unless
    /// [`sweep`](Builder::sweep) says otherwise.
    ///
    /// # Errors
    /// [`Error::Find`] where no program is, [`Error::Plan`] for settings that do not fit together, [`Error::Ended`] when the program
    /// cannot be started, [`Error::Refused`] outside of a runtime and for a
    /// [`death_guard`](Builder::death_guard).
    pub async fn start(self) -> Result<Server, Error> {
        let setup = self.into_setup();
        let (http, key) = (setup.http, setup.api_key.clone());
        let launch = Launch::new(setup, None)?;
        let patience = launch.patience();
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::Refused("a server needs a tokio runtime to be started in".into()));
        };
        let mut swept = Swept::default();
        if let Some((folder, grace)) = launch.to_sweep() {
            // What cannot be looked through cannot be swept, and does not hinder a start.
            let found = runtime.spawn_blocking(move || sweep(&folder, grace).unwrap_or_default());
            swept = found.await.unwrap_or_default();
        }
        let own = Own { shared: supervision::begin(launch, &runtime), patience, swept };
        let shared = own.shared.clone();
        let server = Server { kind: Kind::Own(own), http, key };
        match shared.bell.wait(None, || shared.begun()).await {
            Some(Err(error)) => Err(error),
            _ => Ok(server),
        }
    }
}

impl Server {
    /// Describes a server of this model.
    pub fn builder(model: impl Into<PathBuf>) -> Builder<Driver> {
        Builder::new(model.into())
    }

    /// A server that somebody else runs. It is not watched, and not stopped.
    pub fn at(endpoint: Endpoint, http: http::Options, api_key: Option<&str>) -> Server {
        Server { kind: Kind::At(endpoint), http, key: api_key.map(str::to_owned) }
    }

    fn own(&self) -> Option<&Own> {
        match &self.kind {
            Kind::Own(own) => Some(own),
            Kind::At(_) => None,
        }
    }

    /// Waits until the server is ready for requests.
    ///
    /// A server that was started here has the limits of its
    /// [`Policy`](crate::serve::Policy); one at an address has [`Policy::stall`](serve::Policy).
    ///
    /// # Errors
    /// [`Error::Ended`] with the class of the end, the last lines and what to do;
    /// [`Error::Stopped`]; [`Error::Http`] for a server at an address that does not answer.
    pub async fn ready(&self) -> Result<Ready, Error> {
        match &self.kind {
            Kind::Own(Own { shared, .. }) => {
                shared.bell.wait(None, || shared.readiness()).await.unwrap_or(Err(Error::Stopped))
            }
            Kind::At(endpoint) => self.ask_until_ready(endpoint).await,
        }
    }

    async fn ask_until_ready(&self, endpoint: &Endpoint) -> Result<Ready, Error> {
        let client = Client::with_options(endpoint.clone(), self.http);
        let begun = Instant::now();
        let limit = serve::Policy::DEFAULT.stall.map(|limit| Duration::from_millis(limit.0));
        loop {
            let answer = client.fetch(&http::Request::get("/health")).await;
            let more = match Readiness::judge(&answer) {
                Readiness::Ready => return Ok(Ready::at(endpoint.clone())),
                Readiness::Loading => true,
                // Nobody is about to start it.
                Readiness::NotYet | Readiness::Failed => false,
            };
            if !more || limit.is_some_and(|limit| begun.elapsed() >= limit) {
                return Err(match answer {
                    Err(error) => Error::Http(error),
                    Ok(_) => Error::Refused(format!("{endpoint} is no llama-server")),
                });
            }
            sleep(ASK).await;
        }
    }

    /// Where it is in its life; a server at an address is always taken to be ready.
    pub fn state(&self) -> State {
        self.own().map_or(State::Ready, |own| own.shared.status().state)
    }

    /// Where it listens; `None` before it was started.
    pub fn endpoint(&self) -> Option<Endpoint> {
        match &self.kind {
            Kind::Own(own) => own.shared.status().endpoint.clone(),
            Kind::At(endpoint) => Some(endpoint.clone()),
        }
    }

    /// Its process, while that runs.
    pub fn pid(&self) -> Option<u32> {
        self.own()?.shared.status().pid
    }

    /// What it has written; nothing of a server at an address.
    pub fn logs(&self) -> Excerpt {
        self.own().map(|own| own.shared.excerpt()).unwrap_or_default()
    }

    /// The servers of killed programs that were ended before this one was started.
    pub fn swept(&self) -> Option<&Swept> {
        self.own().map(|own| &own.swept)
    }

    /// A client for other requests, once the server is ready. Its errors do not tell of the
    /// server's end.
    ///
    /// # Errors
    /// As [`ready`](Self::ready).
    pub async fn client(&self) -> Result<Client, Error> {
        let ready = self.ready().await?;
        Ok(Client::with_options(ready.endpoint, self.http))
    }

    /// Begins an exchange, once the server is ready.
    async fn send(
        &self,
        call: &Call,
    ) -> Result<(crate::tokio::Exchange, Option<Visit<Signals>>), Error> {
        let ready = self.ready().await?;
        let headers = call.headers();
        let client = Client::with_options(ready.endpoint, self.http);
        let sent = client.send(&call.request(&headers)).await;
        match (sent, self.own()) {
            (Ok(exchange), Some(own)) => {
                let visit = own.shared.enter(exchange.cancel_handle(), ready.attempt);
                Ok((exchange, Some(visit)))
            }
            (Ok(exchange), None) => Ok((exchange, None)),
            (Err(error), Some(own)) => {
                Err(explained(Some(&own.shared.visit(ready.attempt)), error).await)
            }
            (Err(error), None) => Err(Error::Http(error)),
        }
    }

    async fn answer(&self, call: &Call) -> Result<Answer, Error> {
        let (exchange, visit) = self.send(call).await?;
        match exchange.answer().await {
            Ok(answer) => Ok(answer),
            Err(error) => Err(explained(visit.as_ref(), error).await),
        }
    }

    async fn generation(&self, call: &Call) -> Result<Generation, Error> {
        let (exchange, visit) = self.send(call).await?;
        match exchange.stream(call.machine(&self.http.limits)).await {
            Ok(stream) => Ok(Generation::new(stream, visit)),
            Err(error) => Err(explained(visit.as_ref(), error).await),
        }
    }

    /// Continues a prompt, as a stream: [`Completion::stream`] need not be set. Waits until the
    /// server is ready, and then for the beginning of the answer.
    ///
    /// # Errors
    /// As [`ready`](Self::ready); [`Error::Http`] with the server's refusal, such as a prompt that
    /// is too long.
    pub async fn generate(&self, completion: &Completion<'_>) -> Result<Generation, Error> {
        self.generation(&Call::completion(completion, self.key.as_deref())?).await
    }

    /// Answers in a conversation, as a stream: [`Chat::stream`] need not be set. It ends with what
    /// it cost unless [`Chat::include_usage`] says otherwise.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn chat(&self, chat: &Chat<'_>) -> Result<Generation, Error> {
        self.generation(&Call::chat(chat, self.key.as_deref())?).await
    }

    /// The vectors of texts, in the order of the inputs. The server must have been started for it
    /// ([`Builder::embeddings`]).
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn embed(&self, embeddings: &Embeddings<'_>) -> Result<Vec<Vec<f32>>, Error> {
        let answer = self.answer(&Call::post(embeddings, self.key.as_deref())?).await?;
        texts::embeddings(&answer, &self.http.limits)
    }

    /// The ids of a text's tokens.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn tokenize(&self, tokenize: &Tokenize<'_>) -> Result<Vec<i64>, Error> {
        let answer = self.answer(&Call::post(tokenize, self.key.as_deref())?).await?;
        texts::tokens(&answer, &self.http.limits)
    }

    /// The server's metrics, in the text form of Prometheus. It must have been started for it
    /// ([`Builder::metrics`]).
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub async fn metrics(&self) -> Result<String, Error> {
        Ok(texts::text(self.answer(&Call::get("/metrics", self.key.as_deref())).await?))
    }

    /// Stops the server and waits for its end: it is asked to end, and killed after `grace`, by
    /// default that of its [`Policy`](crate::serve::Policy). Streams that are open are ended. May
    /// be called again, and from several tasks. Tells how it ended; nothing of a server at an
    /// address, which goes on.
    ///
    /// # Errors
    /// [`Error::Ended`] when it had failed before, [`Error::Stuck`].
    pub async fn stop(&self, grace: impl Into<Option<Duration>>) -> Result<Option<Class>, Error> {
        self.end(grace.into(), false).await
    }

    /// Kills the server at once, and waits for its end.
    ///
    /// # Errors
    /// As [`stop`](Self::stop).
    pub async fn kill(&self) -> Result<Option<Class>, Error> {
        self.end(None, true).await
    }

    async fn end(&self, grace: Option<Duration>, force: bool) -> Result<Option<Class>, Error> {
        let Some(own) = self.own() else { return Ok(None) };
        own.shared.stop(grace.map(millis_of), force);
        let limit = own.patience.saturating_add(grace.unwrap_or_default());
        match own.shared.bell.wait(Some(limit), || own.shared.gone()).await {
            Some(gone) => gone,
            None => Err(Error::Stuck { pid: self.pid().unwrap_or_default() }),
        }
    }

    /// Waits until the server has ended by itself or was stopped by another task.
    ///
    /// # Errors
    /// [`Error::Ended`] when it failed.
    pub async fn wait(&self) -> Result<Option<Class>, Error> {
        let Some(own) = self.own() else { return Ok(None) };
        own.shared.bell.wait(None, || own.shared.gone()).await.unwrap_or(Ok(None))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.shared.stop(None, false);
    }
}
