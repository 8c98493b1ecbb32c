//! What a server tells of itself: `/health`, `/props`, `/slots`, `/v1/models`, and the small
//! answers of `/tokenize`, `/detokenize` and `/apply-template`.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::llama::{Health, Tokens};
//!
//! assert_eq!(Health::read(200, br#"{"status":"ok"}"#), Health::Ready);
//! let body = br#"{"tokens":[{"id":22500,"piece":" h\u00e9"},{"id":243,"piece":[240]}]}"#;
//! let tokens = Tokens::read(body, &Limits::default())?;
//! assert_eq!(tokens.map(|token| token.id).collect::<Vec<_>>(), [22500, 243]);
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::fault::Fault;
use super::json::{self, Elements, Str, Value};
use super::read::members::{members, string, whole};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::Limits;

fn absent<T>(name: &'static str) -> Result<T, Error> {
    Err(Error::new(ErrorKind::Llama(Fault::Member(name)), 0))
}

/// What `/health` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Health {
    /// Requests are served (or would wake a server that sleeps).
    Ready,
    /// The model is being loaded: ask again.
    Loading,
    /// Anything else, which waiting does not change.
    Failed,
}

impl Health {
    /// Reads an answer: ready is status 200 *and* a body that says ok, so that another server
    /// on the same address is not taken for one; loading is 503.
    pub fn read(status: u16, body: &[u8]) -> Health {
        let ok = || {
            let value = json::check(body, 0, &Limits::DESKTOP).ok()?;
            value.get("status")?.as_str().filter(|status| status.is("ok"))
        };
        match status {
            200 if ok().is_some() => Health::Ready,
            503 => Health::Loading,
            _ => Health::Failed,
        }
    }
}

members! {
    PropsMembers {
        settings = "default_generation_settings",
        total_slots = "total_slots",
        model_path = "model_path",
        model_alias = "model_alias",
        chat_template = "chat_template",
        build_info = "build_info",
        is_sleeping = "is_sleeping",
        modalities = "modalities",
    }
}

/// What `/props` says; what a server leaves out is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Props<'i> {
    /// How many requests run at once.
    pub total_slots: Option<u64>,
    /// The context of one slot, in tokens.
    pub n_ctx: Option<u64>,
    /// The model's file.
    pub model_path: Option<Str<'i>>,
    /// The model's name in requests.
    pub model_alias: Option<Str<'i>>,
    /// The model's chat template.
    pub chat_template: Option<Str<'i>>,
    /// The server's build.
    pub build_info: Option<Str<'i>>,
    /// The model is unloaded until the next request.
    pub is_sleeping: Option<bool>,
    /// Images can be sent.
    pub vision: Option<bool>,
    /// Sound can be sent.
    pub audio: Option<bool>,
}

impl<'i> Props<'i> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`]; [`Fault::NotObject`].
    pub fn read(body: &'i [u8], limits: &Limits) -> Result<Self, Error> {
        let value = json::check(body, 0, limits)?;
        if !value.is_object() {
            return Err(Error::new(ErrorKind::Llama(Fault::NotObject), 0));
        }
        let found = PropsMembers::read(value);
        let able = |name| found.modalities.and_then(|able| able.get(name)?.as_bool());
        Ok(Props {
            total_slots: whole(found.total_slots),
            n_ctx: whole(found.settings.and_then(|settings| settings.get("n_ctx"))),
            model_path: string(found.model_path),
            model_alias: string(found.model_alias),
            chat_template: string(found.chat_template),
            build_info: string(found.build_info),
            is_sleeping: found.is_sleeping.and_then(Value::as_bool),
            vision: able("vision"),
            audio: able("audio"),
        })
    }
}

members! {
    SlotMembers {
        id = "id",
        n_ctx = "n_ctx",
        is_processing = "is_processing",
        id_task = "id_task",
        n_prompt_tokens = "n_prompt_tokens",
        next_token = "next_token",
    }
}

/// One of a server's places for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Its number, from 0.
    pub id: Option<u64>,
    /// Its context, in tokens.
    pub n_ctx: Option<u64>,
    /// A request runs in it.
    pub is_processing: Option<bool>,
    /// The last request's number; -1 for none.
    pub id_task: Option<i64>,
    /// That one's prompt, in tokens.
    pub n_prompt_tokens: Option<u64>,
    /// Tokens generated for it.
    pub n_decoded: Option<u64>,
}

/// What `/slots` says: an iterator of [`Slot`]s.
#[derive(Debug, Clone)]
pub struct Slots<'i> {
    elements: Elements<'i>,
}

impl<'i> Slots<'i> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`]; [`Fault::Member`] where it is no array.
    pub fn read(body: &'i [u8], limits: &Limits) -> Result<Self, Error> {
        let value = json::check(body, 0, limits)?;
        if !value.is_array() {
            return absent("slots");
        }
        Ok(Slots { elements: value.elements() })
    }
}

impl Iterator for Slots<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let found = SlotMembers::read(self.elements.next()?);
        let next = found.next_token.and_then(|next| match next.is_array() {
            true => next.elements().next(),
            false => Some(next),
        });
        Some(Slot {
            id: whole(found.id),
            n_ctx: whole(found.n_ctx),
            is_processing: found.is_processing.and_then(Value::as_bool),
            id_task: found.id_task.and_then(Value::as_i64),
            n_prompt_tokens: whole(found.n_prompt_tokens),
            n_decoded: whole(next.and_then(|next| next.get("n_decoded"))),
        })
    }
}

members! {
    ModelMembers {
        id = "id",
        created = "created",
        owned_by = "owned_by",
        status = "status",
        meta = "meta",
    }
}

members! {
    MetaMembers {
        n_vocab = "n_vocab",
        n_ctx = "n_ctx",
        n_ctx_train = "n_ctx_train",
        n_embd = "n_embd",
        n_params = "n_params",
        size = "size",
    }
}

/// A model that a server has, or a router could load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model<'i> {
    /// Its name in requests.
    pub id: Str<'i>,
    /// A router's word for its state: `loaded`, `loading`, `unloaded`, `sleeping`, ...
    pub status: Option<Str<'i>>,
    /// A router could not load it, or its server crashed.
    pub failed: Option<bool>,
    /// That server's exit code.
    pub exit_code: Option<i64>,
    /// The size of its vocabulary.
    pub n_vocab: Option<u64>,
    /// The context it was loaded with, in tokens.
    pub n_ctx: Option<u64>,
    /// The context it was trained for, in tokens.
    pub n_ctx_train: Option<u64>,
    /// The size of an embedding.
    pub n_embd: Option<u64>,
    /// How many parameters it has.
    pub n_params: Option<u64>,
    /// The size of its tensors in bytes.
    pub size: Option<u64>,
}

/// What `/v1/models` says: an iterator of [`Model`]s.
#[derive(Debug, Clone)]
pub struct Models<'i> {
    elements: Elements<'i>,
}

impl<'i> Models<'i> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`]; [`Fault::Member`] without the array `data`.
    pub fn read(body: &'i [u8], limits: &Limits) -> Result<Self, Error> {
        match json::check(body, 0, limits)?.get("data").filter(|data| data.is_array()) {
            Some(data) => Ok(Models { elements: data.elements() }),
            None => absent("data"),
        }
    }
}

impl<'i> Iterator for Models<'i> {
    type Item = Model<'i>;

    /// The next model that has a name.
    fn next(&mut self) -> Option<Model<'i>> {
        loop {
            let found = ModelMembers::read(self.elements.next()?);
            let Some(id) = string(found.id) else { continue };
            let meta = found.meta.map(MetaMembers::read).unwrap_or_default();
            let status = |name| found.status.and_then(|status| status.get(name));
            return Some(Model {
                id,
                status: string(status("value")),
                failed: status("failed").and_then(Value::as_bool),
                exit_code: status("exit_code").and_then(Value::as_i64),
                n_vocab: whole(meta.n_vocab),
                n_ctx: whole(meta.n_ctx),
                n_ctx_train: whole(meta.n_ctx_train),
                n_embd: whole(meta.n_embd),
                n_params: whole(meta.n_params),
                size: whole(meta.size),
            });
        }
    }
}

/// A token of `/tokenize`.
#[derive(Debug, Clone, Copy)]
pub struct Token<'i> {
    /// Its id in the model's vocabulary.
    pub id: i64,
    /// Its text, if `with_pieces` was asked for.
    pub piece: Option<TokenPiece<'i>>,
}

/// The text of a token: a server sends a string, or an array of bytes where it is not UTF-8.
#[derive(Debug, Clone, Copy)]
pub struct TokenPiece<'i> {
    value: Value<'i>,
}

impl<'i> TokenPiece<'i> {
    /// The string, unless the token is only a part of characters.
    pub fn as_str(self) -> Option<Str<'i>> {
        self.value.as_str()
    }

    /// The bytes, in either case.
    ///
    /// # Errors
    /// [`Full`] when `out` is shorter than they are.
    pub fn copy_into(self, out: &mut [u8]) -> Result<usize, Full> {
        if let Some(string) = self.as_str() {
            return string.unescape_into(out).map(str::len);
        }
        let mut len = 0;
        for byte in self.value.elements() {
            if let (Some(slot), Some(byte)) = (out.get_mut(len), byte.as_u64()) {
                *slot = byte as u8;
            }
            len += 1;
        }
        if len > out.len() { Err(Full { need: len as u64 }) } else { Ok(len) }
    }
}

/// What `/tokenize` says: an iterator of [`Token`]s, with or without their pieces.
#[derive(Debug, Clone)]
pub struct Tokens<'i> {
    elements: Elements<'i>,
}

impl<'i> Tokens<'i> {
    /// Reads the body.
    ///
    /// # Errors
    /// [`ErrorKind::Json`]; [`Fault::Member`] without the array `tokens`, or when something in
    /// it is no token.
    pub fn read(body: &'i [u8], limits: &Limits) -> Result<Self, Error> {
        let tokens = json::check(body, 0, limits)?.get("tokens").filter(|data| data.is_array());
        let Some(tokens) = tokens else { return absent("tokens") };
        if let Some(other) = tokens.elements().find(|token| read_token(*token).is_none()) {
            let at = other.range().start as u64;
            return Err(Error::new(ErrorKind::Llama(Fault::Member("tokens")), at));
        }
        Ok(Tokens { elements: tokens.elements() })
    }
}

fn read_token(value: Value<'_>) -> Option<Token<'_>> {
    if let Some(id) = value.as_i64() {
        return Some(Token { id, piece: None });
    }
    let id = value.get("id")?.as_i64()?;
    let byte = |byte: Value<'_>| byte.as_u64().is_some_and(|byte| byte < 256);
    let piece = match value.get("piece") {
        Some(piece) if piece.as_str().is_some() => Some(TokenPiece { value: piece }),
        Some(piece) if piece.is_array() && piece.elements().all(byte) => {
            Some(TokenPiece { value: piece })
        }
        Some(_) => return None,
        None => None,
    };
    Some(Token { id, piece })
}

impl<'i> Iterator for Tokens<'i> {
    type Item = Token<'i>;

    fn next(&mut self) -> Option<Token<'i>> {
        read_token(self.elements.next()?)
    }
}

/// The text in an answer of `/detokenize`.
///
/// # Errors
/// [`ErrorKind::Json`]; [`Fault::Member`] without the string `content`.
pub fn detokenized<'i>(body: &'i [u8], limits: &Limits) -> Result<Str<'i>, Error> {
    match string(json::check(body, 0, limits)?.get("content")) {
        Some(content) => Ok(content),
        None => absent("content"),
    }
}

/// The prompt in an answer of `/apply-template`.
///
/// # Errors
/// [`ErrorKind::Json`]; [`Fault::Member`] without the string `prompt`.
pub fn templated<'i>(body: &'i [u8], limits: &Limits) -> Result<Str<'i>, Error> {
    match string(json::check(body, 0, limits)?.get("prompt")) {
        Some(prompt) => Ok(prompt),
        None => absent("prompt"),
    }
}
