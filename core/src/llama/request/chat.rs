//! `/v1/chat/completions`.

use super::super::json;
use super::fields::{Fields, Request};
use super::sampling::Sampling;
use crate::limits::Limits;

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Nothing: `null`, as in a message that only calls tools.
    Null,
    /// Text.
    Text(&'a str),
    /// The JSON array of parts that the OpenAI API describes: texts, images, sound.
    Parts(&'a str),
}

/// A call of a tool that the model made earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCall<'a> {
    /// Its id.
    pub id: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// The arguments: JSON, which is sent as a string.
    pub arguments: &'a str,
}

/// A message of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Who speaks: `system`, `user`, `assistant`, `tool`, ...
    pub role: &'a str,
    /// What is said.
    pub content: Content<'a>,
    /// What the model thought before it said that.
    pub reasoning_content: Option<&'a str>,
    /// The calls that it made.
    pub tool_calls: &'a [ToolCall<'a>],
    /// Of a tool's result: the call that it answers.
    pub tool_call_id: Option<&'a str>,
    /// The speaker's or tool's name.
    pub name: Option<&'a str>,
}

impl<'a> Message<'a> {
    /// Text, said in this role.
    pub const fn new(role: &'a str, text: &'a str) -> Self {
        Message {
            role,
            content: Content::Text(text),
            reasoning_content: None,
            tool_calls: &[],
            tool_call_id: None,
            name: None,
        }
    }

    /// How the model is to behave.
    pub const fn system(text: &'a str) -> Self {
        Message::new("system", text)
    }

    /// What the user says.
    pub const fn user(text: &'a str) -> Self {
        Message::new("user", text)
    }

    /// What the model said.
    pub const fn assistant(text: &'a str) -> Self {
        Message::new("assistant", text)
    }

    /// The calls that the model made instead of saying something.
    pub const fn calls(calls: &'a [ToolCall<'a>]) -> Self {
        let mut message = Message::new("assistant", "");
        message.content = Content::Null;
        message.tool_calls = calls;
        message
    }

    /// What the call with this id gave.
    pub const fn tool(id: &'a str, result: &'a str) -> Self {
        let mut message = Message::new("tool", result);
        message.tool_call_id = Some(id);
        message
    }
}

/// Writes `"messages":[...]`.
pub(super) fn messages(fields: &mut Fields<'_, '_>, messages: &[Message<'_>]) {
    for message in messages {
        if let Content::Parts(parts) = message.content
            && !is_array(parts)
        {
            fields.refuse("content");
        }
    }
    let Some(writer) = fields.key("messages") else { return };
    writer.begin(b'[');
    for message in messages {
        writer.begin(b'{').key("role").string(message.role).key("content");
        match message.content {
            Content::Null => writer.raw(b"null"),
            Content::Text(text) => writer.string(text),
            Content::Parts(parts) => writer.raw(parts.trim().as_bytes()),
        };
        let strings = [
            ("reasoning_content", message.reasoning_content),
            ("tool_call_id", message.tool_call_id),
            ("name", message.name),
        ];
        for (key, value) in strings {
            if let Some(value) = value {
                writer.key(key).string(value);
            }
        }
        if !message.tool_calls.is_empty() {
            writer.key("tool_calls").begin(b'[');
            for call in message.tool_calls {
                writer.begin(b'{').key("id").string(call.id).key("type").string("function");
                writer.key("function").begin(b'{').key("name").string(call.name);
                writer.key("arguments").string(call.arguments).end(b'}').end(b'}');
            }
            writer.end(b']');
        }
        writer.end(b'}');
    }
    writer.end(b']');
}

fn is_array(text: &str) -> bool {
    json::check(text.as_bytes(), 0, &Limits::DESKTOP).is_ok_and(json::Value::is_array)
}

/// A request of `/v1/chat/completions`: an answer to a conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chat<'a> {
    /// The conversation.
    pub messages: &'a [Message<'a>],
    /// The model, where a server has several.
    pub model: Option<&'a str>,
    /// The answer comes as a stream.
    pub stream: bool,
    /// A stream ends with what it cost (false).
    pub include_usage: Option<bool>,
    /// The tools that may be called: a JSON array.
    pub tools: Option<&'a str>,
    /// Which are to be called: JSON, `"auto"` in quotes and the like.
    pub tool_choice: Option<&'a str>,
    /// Several calls at once may be made.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer: a JSON object.
    pub response_format: Option<&'a str>,
    /// How reasoning is told apart: `auto`, `none`, `deepseek`, ...
    pub reasoning_format: Option<&'a str>,
    /// What the chat template is given besides: a JSON object.
    pub chat_template_kwargs: Option<&'a str>,
    /// The answer tells the tokens, with their ids and probabilities.
    pub logprobs: Option<bool>,
    /// How many other tokens it tells with each.
    pub top_logprobs: Option<u32>,
    /// How tokens are chosen.
    pub sampling: Sampling<'a>,
    /// Further members: the text of a JSON object.
    pub extra: Option<&'a str>,
}

impl<'a> Chat<'a> {
    /// A request that leaves everything to the server, for a whole answer.
    pub fn new(messages: &'a [Message<'a>]) -> Self {
        Chat {
            messages,
            model: None,
            stream: false,
            include_usage: None,
            tools: None,
            tool_choice: None,
            parallel_tool_calls: None,
            response_format: None,
            reasoning_format: None,
            chat_template_kwargs: None,
            logprobs: None,
            top_logprobs: None,
            sampling: Sampling::default(),
            extra: None,
        }
    }
}

/// Writes `"stream"` and `"stream_options"`.
pub(super) fn stream(fields: &mut Fields<'_, '_>, stream: bool, include_usage: Option<bool>) {
    fields.bool("stream", Some(stream));
    if let Some(include) = include_usage
        && let Some(writer) = fields.key("stream_options")
    {
        writer.begin(b'{').key("include_usage").bool(include).end(b'}');
    }
}

impl Request for Chat<'_> {
    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn fields(&self, fields: &mut Fields<'_, '_>) {
        fields.string("model", self.model);
        messages(fields, self.messages);
        stream(fields, self.stream, self.include_usage);
        fields.raw("tools", self.tools, b'[');
        fields.raw("tool_choice", self.tool_choice, 0);
        fields.bool("parallel_tool_calls", self.parallel_tool_calls);
        fields.raw("response_format", self.response_format, b'{');
        fields.string("reasoning_format", self.reasoning_format);
        fields.raw("chat_template_kwargs", self.chat_template_kwargs, b'{');
        fields.bool("logprobs", self.logprobs);
        fields.number("top_logprobs", self.top_logprobs);
        self.sampling.fields(fields, "max_tokens", "n");
    }

    fn extra(&self) -> Option<&str> {
        self.extra
    }
}
