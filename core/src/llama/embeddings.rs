//! The answer of `/v1/embeddings`.

use super::fault::Fault;
use super::json::{self, Elements, Value};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// One vector of an answer of `/v1/embeddings`.
#[derive(Debug, Clone)]
pub struct Embedding<'i> {
    /// Which of the inputs it belongs to, from 0.
    pub index: u64,
    numbers: Elements<'i>,
}

impl Iterator for Embedding<'_> {
    type Item = f64;

    /// The next component.
    fn next(&mut self) -> Option<f64> {
        self.numbers.next()?.as_f64()
    }
}

/// The vectors in an answer of `/v1/embeddings`: an iterator of [`Embedding`]s.
///
/// ```
/// use rocload_core::Limits;
/// use rocload_core::llama::Embeddings;
///
/// let body = br#"{"object":"list","data":[{"embedding":[0.5,-1],"index":0}],"model":"m"}"#;
/// let mut vectors = Embeddings::read(body, &Limits::default())?;
/// let vector = vectors.next().unwrap();
/// assert_eq!((vector.index, vector.collect::<Vec<_>>()), (0, vec![0.5, -1.0]));
/// assert!(vectors.next().is_none());
/// # Ok::<(), rocload_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Embeddings<'i> {
    elements: Elements<'i>,
}

impl<'i> Embeddings<'i> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`]; [`Fault::Member`] without the array `data`, or when something in it
    /// is no vector of numbers.
    pub fn read(body: &'i [u8], limits: &Limits) -> Result<Self, Error> {
        let refuse = |member, at| Err(Error::new(ErrorKind::Llama(Fault::Member(member)), at));
        let data = json::check(body, 0, limits)?.get("data").filter(|data| data.is_array());
        let Some(data) = data else { return refuse("data", 0) };
        if let Some(other) = data.elements().find(|element| vector(*element).is_none()) {
            return refuse("embedding", other.range().start as u64);
        }
        Ok(Embeddings { elements: data.elements() })
    }
}

fn vector(value: Value<'_>) -> Option<Embedding<'_>> {
    let numbers = value.get("embedding").filter(|numbers| numbers.is_array())?;
    let all = numbers.elements().all(|number| number.as_f64().is_some());
    let index = value.get("index").map_or(Some(0), Value::as_u64)?;
    all.then(|| Embedding { index, numbers: numbers.elements() })
}

impl<'i> Iterator for Embeddings<'i> {
    type Item = Embedding<'i>;

    fn next(&mut self) -> Option<Embedding<'i>> {
        vector(self.elements.next()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_vector_is_refused() {
        let read = |body: &'static str| Embeddings::read(body.as_bytes(), &Limits::default());
        for body in [
            "",
            "[]",
            "{}",
            r#"{"data":{}}"#,
            r#"{"data":[1]}"#,
            r#"{"data":[{"embedding":1}]}"#,
            r#"{"data":[{"embedding":[1,"2"]}]}"#,
            r#"{"data":[{"index":-1,"embedding":[1]}]}"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
        assert_eq!(read(r#"{"data":[]}"#).unwrap().count(), 0);
    }
}
