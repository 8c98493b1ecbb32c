//! The objects of the protocol, as far as they are read.
//!
//! Sources: llama.cpp `tools/server/server-task.cpp` (what is written), the OpenAI and Anthropic
//! API references (what others write).

use super::super::item::{Progress, Timings, Usage};
use super::super::json::Value;
use super::members::{members, real, whole};

members! {
    /// The outermost object of any event or answer.
    Top {
        kind = "type",
        object = "object",
        error = "error",
        code = "code",
        message = "message",
        choices = "choices",
        usage = "usage",
        timings = "timings",
        progress = "prompt_progress",
        index = "index",
        content = "content",
        tokens = "tokens",
        stop = "stop",
        stop_type = "stop_type",
        stopping_word = "stopping_word",
        truncated = "truncated",
        predicted = "tokens_predicted",
        evaluated = "tokens_evaluated",
        delta = "delta",
        item = "item",
        response = "response",
        block = "content_block",
        role = "role",
        stop_reason = "stop_reason",
        stop_sequence = "stop_sequence",
        output = "output",
        status = "status",
        details = "incomplete_details",
    }
}

members! {
    /// An element of `choices`.
    Choice {
        index = "index",
        delta = "delta",
        message = "message",
        text = "text",
        finish = "finish_reason",
        logprobs = "logprobs",
    }
}

members! {
    /// `delta` or `message` of a choice.
    Message {
        role = "role",
        content = "content",
        reasoning_content = "reasoning_content",
        reasoning = "reasoning",
        tools = "tool_calls",
    }
}

members! {
    /// An element of `tool_calls`, and its `function`.
    Tool {
        index = "index",
        id = "id",
        function = "function",
        name = "name",
        arguments = "arguments",
    }
}

members! {
    /// A part of the output of `/v1/responses` or a content block of `/v1/messages`.
    Block {
        kind = "type",
        role = "role",
        content = "content",
        summary = "summary",
        text = "text",
        thinking = "thinking",
        partial_json = "partial_json",
        id = "id",
        call_id = "call_id",
        name = "name",
        arguments = "arguments",
        input = "input",
        stop_reason = "stop_reason",
        stop_sequence = "stop_sequence",
    }
}

members! {
    /// An error.
    Fault {
        code = "code",
        kind = "type",
        message = "message",
        n_prompt_tokens = "n_prompt_tokens",
        n_ctx = "n_ctx",
    }
}

members! {
    UsageMembers {
        prompt = "prompt_tokens",
        completion = "completion_tokens",
        total = "total_tokens",
        prompt_details = "prompt_tokens_details",
        input = "input_tokens",
        output = "output_tokens",
        input_details = "input_tokens_details",
        cache_read = "cache_read_input_tokens",
    }
}

/// `usage`, in the words of each endpoint. `/v1/messages` counts the cached tokens apart from
/// `input_tokens`, the others within.
pub(crate) fn usage(value: Value<'_>) -> Usage {
    let found = UsageMembers::read(value);
    let details = found.prompt_details.or(found.input_details);
    let apart = whole(found.cache_read);
    let input = whole(found.input).map(|input| input.saturating_add(apart.unwrap_or(0)));
    Usage {
        prompt: whole(found.prompt).or(input),
        completion: whole(found.completion).or(whole(found.output)),
        total: whole(found.total),
        cached: whole(details.and_then(|details| details.get("cached_tokens"))).or(apart),
    }
}

members! {
    TimingMembers {
        cache_n = "cache_n",
        prompt_n = "prompt_n",
        prompt_ms = "prompt_ms",
        prompt_per_second = "prompt_per_second",
        predicted_n = "predicted_n",
        predicted_ms = "predicted_ms",
        predicted_per_second = "predicted_per_second",
        draft_n = "draft_n",
        draft_n_accepted = "draft_n_accepted",
    }
}

/// `timings`.
pub(crate) fn timings(value: Value<'_>) -> Timings {
    let found = TimingMembers::read(value);
    Timings {
        cache_n: whole(found.cache_n),
        prompt_n: whole(found.prompt_n),
        prompt_ms: real(found.prompt_ms),
        prompt_per_second: real(found.prompt_per_second),
        predicted_n: whole(found.predicted_n),
        predicted_ms: real(found.predicted_ms),
        predicted_per_second: real(found.predicted_per_second),
        draft_n: whole(found.draft_n),
        draft_n_accepted: whole(found.draft_n_accepted),
    }
}

/// `prompt_progress`.
pub(crate) fn progress(value: Value<'_>) -> Progress {
    Progress {
        total: whole(value.get("total")),
        cache: whole(value.get("cache")),
        processed: whole(value.get("processed")),
        time_ms: whole(value.get("time_ms")),
    }
}
