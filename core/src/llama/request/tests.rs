use super::*;
use crate::error::{ErrorKind, Full};
use crate::limits::Limits;
use crate::llama::Fault;
use crate::llama::json;
use alloc::string::String;
use alloc::vec;

fn written(request: &impl Request) -> String {
    let mut out = [0; 4096];
    let length = request.write(&mut out).unwrap();
    json::check(&out[..length], 0, &Limits::default()).unwrap();
    #[cfg(feature = "alloc")]
    assert_eq!(request.to_vec().as_deref(), Ok(&out[..length]));
    String::from_utf8(out[..length].to_vec()).unwrap()
}

fn refused(request: &impl Request) -> ErrorKind {
    request.write(&mut [0; 4096]).unwrap_err().kind
}

#[test]
fn what_is_unset_is_left_out_and_zero_is_sent() {
    let mut completion = Completion::new(Prompt::Text("a\u{1}\"b"));
    assert_eq!(written(&completion), r#"{"prompt":"a\u0001\"b","stream":false}"#);
    completion.sampling.temperature = Some(0.0);
    completion.sampling.top_k = Some(0);
    completion.sampling.n_predict = Some(0);
    completion.sampling.seed = Some(-1);
    completion.sampling.cache_prompt = Some(false);
    completion.sampling.stop = Some(&[]);
    completion.sampling.n = Some(2);
    completion.n_probs = Some(0);
    assert_eq!(
        written(&completion),
        "{\"prompt\":\"a\\u0001\\\"b\",\"stream\":false,\"n_probs\":0,\"temperature\":0.0,\"top_k\":0,\
         \"seed\":-1,\"n_predict\":0,\"stop\":[],\"n_cmpl\":2,\"cache_prompt\":false}"
    );
    completion.flavour = Flavour::OpenAi;
    let body = written(&completion);
    assert!(body.contains("\"logprobs\":0") && body.contains("\"max_tokens\":0"), "{body}");
    assert_eq!(completion.path(), "/v1/completions");
}

#[test]
fn tools_their_calls_and_results() {
    let call = ToolCall { id: "c1", name: "add", arguments: r#"{"a":1}"# };
    let calls = [call];
    let messages = [Message::user("1+1?"), Message::calls(&calls), Message::tool("c1", "2")];
    let mut chat = Chat::new(&messages);
    chat.tools = Some(r#" [{"type":"function"}] "#);
    chat.tool_choice = Some("\"auto\"");
    assert_eq!(
        written(&chat),
        r#"{"messages":[{"role":"user","content":"1+1?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}]},{"role":"tool","content":"2","tool_call_id":"c1"}],"stream":false,"tools":[{"type":"function"}],"tool_choice":"auto"}"#
    );
    chat.tools = Some("{}");
    assert_eq!(refused(&chat), ErrorKind::Llama(Fault::Raw("tools")));
    let mut message = Message::user("");
    message.content = Content::Parts("[1,]");
    let messages = [message];
    assert_eq!(refused(&Chat::new(&messages)), ErrorKind::Llama(Fault::Raw("content")));
}

#[test]
fn biases_are_pairs_and_numbers_finite() {
    let mut completion = Completion::new(Prompt::Tokens(&[1, -2]));
    completion.sampling.logit_bias = Some(&[(5, Bias::Never), (6, Bias::Add(-1.5))]);
    let body = written(&completion);
    assert_eq!(body, r#"{"prompt":[1,-2],"stream":false,"logit_bias":[[5,false],[6,-1.5]]}"#);
    completion.sampling.logit_bias = Some(&[(5, Bias::Add(f64::NAN))]);
    assert_eq!(refused(&completion), ErrorKind::Llama(Fault::Raw("logit_bias")));
    completion.sampling.logit_bias = None;
    completion.sampling.top_p = Some(f64::INFINITY);
    assert_eq!(refused(&completion), ErrorKind::Llama(Fault::Raw("top_p")));
}

#[test]
fn extra_members_are_passed_through_and_repeat_nothing() {
    let mut completion = Completion::new(Prompt::Json("[1,\"x\"]"));
    completion.extra = Some(r#" {"lora":[{"id":0}] , "\u0062":null} "#);
    let body = written(&completion);
    assert_eq!(body, r#"{"prompt":[1,"x"],"stream":false,"lora":[{"id":0}],"\u0062":null}"#);
    completion.extra = Some("{}");
    assert_eq!(written(&completion), r#"{"prompt":[1,"x"],"stream":false}"#);
    for extra in [
        "[1]",
        "1",
        "",
        "{\"a\":}",
        "{\"a\":1},\"b\":2",
        "{\"stream\":true}",
        "{\"str\\u0065am\":true}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
    ] {
        completion.extra = Some(extra);
        assert_eq!(refused(&completion), ErrorKind::Llama(Fault::Extra), "{extra}");
    }
    // A field that is not sent may be given there.
    completion.extra = Some("{\"temperature\":1}");
    assert!(written(&completion).ends_with("\"temperature\":1}"));
}

#[test]
fn a_body_that_does_not_fit_says_how_much_would_do() {
    let request = Tokenize { with_pieces: Some(true), ..Tokenize::new("é\n") };
    let body = written(&request);
    assert_eq!(body, "{\"content\":\"é\\n\",\"with_pieces\":true}");
    let mut out = vec![0; body.len()];
    assert_eq!(request.write(&mut out), Ok(body.len()));
    let full = Full { need: body.len() as u64 };
    assert_eq!(request.write(&mut out[1..]).unwrap_err().kind, ErrorKind::Full(full));
}

#[test]
fn the_small_requests() {
    assert_eq!(written(&Detokenize { tokens: &[] }), r#"{"tokens":[]}"#);
    let messages = [Message::system("s")];
    let template = ApplyTemplate { messages: &messages, extra: None };
    assert_eq!(written(&template), r#"{"messages":[{"role":"system","content":"s"}]}"#);
    assert_eq!(written(&Embeddings::new(Input::Texts(&["a", ""]))), r#"{"input":["a",""]}"#);
    let tokens = Embeddings { model: Some("m"), ..Embeddings::new(Input::Tokens(&[7])) };
    assert_eq!(written(&tokens), r#"{"input":[7],"model":"m"}"#);
}
