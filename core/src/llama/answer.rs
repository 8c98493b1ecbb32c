//! A whole answer: the JSON body of a request that did not ask for a stream.

use super::item::{Item, Received};
use super::read::{Dialect, Kept, Reader};
use crate::error::Error;
use crate::limits::Limits;
use crate::need::Storage;

/// Reads a whole answer of `/v1/chat/completions`, `/v1/completions`, `/completion` (several
/// too), `/v1/responses` or `/v1/messages` into the same [`Item`]s as a stream's, without the
/// last [`Item::End`]. The body of an error gives [`Item::Error`]; see also
/// [`ErrorBody`](super::ErrorBody).
///
/// `T` holds a string that has escapes, one at a time.
///
/// ```
/// use rocload_core::Limits;
/// use rocload_core::llama::{Answer, Item};
///
/// let body = br#"{"choices":[{"finish_reason":"stop","index":0,"message":
///     {"role":"assistant","content":"1 < 2\n"}}],"usage":{"completion_tokens":5,"prompt_tokens":14}}"#;
/// let mut answer = Answer::new(body, [0u8; 64], &Limits::default())?;
/// let mut text = String::new();
/// while let Some(item) = answer.next() {
///     match item {
///         Item::Text { text: more, .. } => text.push_str(more),
///         Item::Usage(usage) => assert_eq!(usage.prompt, Some(14)),
///         _ => {}
///     }
/// }
/// assert_eq!(text, "1 < 2\n");
/// # Ok::<(), rocload_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Answer<'i, T> {
    body: &'i [u8],
    reader: Reader,
    text: T,
    kept: Option<Kept>,
}

impl<'i, T: Storage> Answer<'i, T> {
    /// Checks the whole body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`](crate::ErrorKind::Json) and
    /// [`Fault::NotObject`](super::Fault::NotObject), at their place in the body.
    pub fn new(body: &'i [u8], text: T, limits: &Limits) -> Result<Self, Error> {
        let mut reader = Reader::new(Dialect::Detect, u32::MAX);
        reader.begin_whole(body, limits)?;
        Ok(Answer { body, reader, text, kept: None })
    }

    /// The next item.
    #[expect(clippy::should_implement_trait, reason = "an item borrows from the memory for text")]
    pub fn next(&mut self) -> Option<Item<'_>> {
        self.kept = self.reader.next(self.body, &mut self.text);
        match &self.kept {
            None | Some(Kept::End(_)) => None,
            Some(kept) => Some(kept.item(self.body, self.text.slots())),
        }
    }

    /// What came so far.
    pub const fn received(&self) -> &Received {
        &self.reader.received
    }
}
