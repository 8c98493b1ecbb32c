//! A request to a server, in owned memory, and what its answer says.

use rocload_core::Limits;
use rocload_core::http::Request;
use rocload_core::llama::request::{self, Chat, Completion};
use rocload_core::llama::{Embeddings, Options, Stream, Tokens};

use super::Error;
use crate::http::Answer;

/// A request with its body and its key.
#[derive(Debug)]
pub(crate) struct Call {
    target: &'static str,
    body: Vec<u8>,
    authorization: Option<String>,
    answers: u32,
    stream: bool,
}

impl Call {
    pub(crate) fn get(target: &'static str, key: Option<&str>) -> Call {
        let authorization = key.map(|key| format!("Bearer {key}"));
        Call { target, body: Vec::new(), authorization, answers: 1, stream: false }
    }

    pub(crate) fn post(what: &impl request::Request, key: Option<&str>) -> Result<Call, Error> {
        let body = what.to_vec()?;
        Ok(Call { body, ..Call::get(what.path(), key) })
    }

    /// A streamed conversation that tells what it cost.
    pub(crate) fn chat(chat: &Chat<'_>, key: Option<&str>) -> Result<Call, Error> {
        let include_usage = chat.include_usage.or(Some(true));
        let answers = chat.sampling.n.unwrap_or(1);
        let call = Call::post(&Chat { stream: true, include_usage, ..*chat }, key)?;
        Ok(Call { answers, stream: true, ..call })
    }

    /// A streamed completion.
    pub(crate) fn completion(what: &Completion<'_>, key: Option<&str>) -> Result<Call, Error> {
        let answers = what.sampling.n.unwrap_or(1);
        let call = Call::post(&Completion { stream: true, ..*what }, key)?;
        Ok(Call { answers, stream: true, ..call })
    }

    pub(crate) fn headers(&self) -> Vec<(&'static str, &str)> {
        let key = self.authorization.as_deref().map(|key| ("Authorization", key));
        key.into_iter().collect()
    }

    pub(crate) fn request<'r>(&'r self, headers: &'r [(&'r str, &'r str)]) -> Request<'r> {
        let mut request = match self.body.is_empty() {
            true => Request::get(self.target),
            false => Request::post(self.target, &self.body),
        };
        request.headers = headers;
        if self.stream {
            request.accept = "text/event-stream";
        }
        request
    }

    /// The machine that reads the answer as a stream.
    pub(crate) fn machine(&self, limits: &Limits) -> Stream<Vec<u8>, Vec<u8>> {
        let options = Options::new().answers(self.answers);
        Stream::new(options, limits, Vec::new(), Vec::new())
    }
}

/// What answers say.
pub(crate) mod texts {
    use super::*;

    /// The vectors of an answer of `/v1/embeddings`, in the order of the inputs.
    pub(crate) fn embeddings(answer: &Answer, limits: &Limits) -> Result<Vec<Vec<f32>>, Error> {
        let mut vectors: Vec<(u64, Vec<f32>)> = Embeddings::read(&answer.body, limits)?
            .map(|vector| (vector.index, vector.map(|number| number as f32).collect()))
            .collect();
        vectors.sort_by_key(|(index, _)| *index);
        Ok(vectors.into_iter().map(|(_, vector)| vector).collect())
    }

    /// The ids in an answer of `/tokenize`.
    pub(crate) fn tokens(answer: &Answer, limits: &Limits) -> Result<Vec<i64>, Error> {
        Ok(Tokens::read(&answer.body, limits)?.map(|token| token.id).collect())
    }

    /// A text, ill-formed UTF-8 replaced.
    pub(crate) fn text(answer: Answer) -> String {
        String::from_utf8(answer.body)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}
