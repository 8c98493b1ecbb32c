//! How the next token is chosen, and what else all completions share.

use super::fields::Fields;

/// What is added to the logit of a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bias {
    /// This much.
    Add(f64),
    /// The token never comes.
    Never,
}

/// Fields that `/v1/chat/completions`, `/v1/completions` and `/completion` share. The names are
/// llama-server's; its defaults are in brackets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampling<'a> {
    /// Randomness (0.8); 0 is greedy.
    pub temperature: Option<f64>,
    /// Range of a dynamic temperature (0 = off).
    pub dynatemp_range: Option<f64>,
    /// Its exponent (1).
    pub dynatemp_exponent: Option<f64>,
    /// The likeliest so many tokens (40; 0 = all).
    pub top_k: Option<i64>,
    /// The likeliest tokens that have this share of the probability (0.95; 1 = off).
    pub top_p: Option<f64>,
    /// The least probability, as a share of the likeliest token's (0.05; 0 = off).
    pub min_p: Option<f64>,
    /// Tokens within so many standard deviations of the likeliest (-1 = off).
    pub top_n_sigma: Option<f64>,
    /// Locally typical sampling (1 = off).
    pub typical_p: Option<f64>,
    /// Probability of removing the likeliest tokens (0 = off).
    pub xtc_probability: Option<f64>,
    /// The least probability of a token so removed (0.1).
    pub xtc_threshold: Option<f64>,
    /// Penalty for repetition (1 = off).
    pub repeat_penalty: Option<f64>,
    /// How many tokens back penalties look (64; 0 = off, -1 = all).
    pub repeat_last_n: Option<i64>,
    /// Penalty for tokens that came before (0 = off).
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens by how often they came (0 = off).
    pub frequency_penalty: Option<f64>,
    /// Penalty for repeated sequences (0 = off).
    pub dry_multiplier: Option<f64>,
    /// Its base (1.75).
    pub dry_base: Option<f64>,
    /// Sequences up to this length are free (2).
    pub dry_allowed_length: Option<i64>,
    /// How many tokens back it looks (-1 = the context).
    pub dry_penalty_last_n: Option<i64>,
    /// What ends a sequence.
    pub dry_sequence_breakers: Option<&'a [&'a str]>,
    /// Mirostat's version (0 = off, 1, 2).
    pub mirostat: Option<u32>,
    /// Its target entropy (5).
    pub mirostat_tau: Option<f64>,
    /// Its learning rate (0.1).
    pub mirostat_eta: Option<f64>,
    /// The samplers, in the order in which they are applied.
    pub samplers: Option<&'a [&'a str]>,
    /// Tokens that samplers leave at least (0).
    pub min_keep: Option<u64>,
    /// The seed (-1 = random).
    pub seed: Option<i64>,
    /// The most tokens to generate (-1 = no limit, 0 = only read the prompt); `max_tokens` at
    /// the OpenAI endpoints.
    pub n_predict: Option<i64>,
    /// The most milliseconds to generate for, from the first new line on (0 = no limit).
    pub t_max_predict_ms: Option<i64>,
    /// Tokens of the prompt that stay when the context is shifted (0; -1 = all).
    pub n_keep: Option<i64>,
    /// Texts that end the answer and are not part of it.
    pub stop: Option<&'a [&'a str]>,
    /// The model may not end the answer (false).
    pub ignore_eos: Option<bool>,
    /// Biases, by token id.
    pub logit_bias: Option<&'a [(i64, Bias)]>,
    /// A GBNF grammar for the answer.
    pub grammar: Option<&'a str>,
    /// A JSON schema for the answer, as JSON.
    pub json_schema: Option<&'a str>,
    /// How many answers (1; the server must have as many slots).
    pub n: Option<u32>,
    /// Probabilities are those after sampling (false).
    pub post_sampling_probs: Option<bool>,
    /// The prompt's tokens stay in the cache (true).
    pub cache_prompt: Option<bool>,
    /// The slot to run in (-1 = any).
    pub id_slot: Option<i64>,
    /// Token ids in a whole answer too (false).
    pub return_tokens: Option<bool>,
    /// A stream tells how much of the prompt has been read (false).
    pub return_progress: Option<bool>,
    /// A stream has timings in each event (false).
    pub timings_per_token: Option<bool>,
    /// The members that an answer is to have.
    pub response_fields: Option<&'a [&'a str]>,
    /// Seconds between the comments of a stream that waits (30; -1 = none).
    pub sse_ping_interval: Option<i64>,
}

impl Sampling<'_> {
    pub(super) fn fields(&self, fields: &mut Fields<'_, '_>, max_tokens: &str, answers: &str) {
        fields.float("temperature", self.temperature);
        fields.float("dynatemp_range", self.dynatemp_range);
        fields.float("dynatemp_exponent", self.dynatemp_exponent);
        fields.number("top_k", self.top_k);
        fields.float("top_p", self.top_p);
        fields.float("min_p", self.min_p);
        fields.float("top_n_sigma", self.top_n_sigma);
        fields.float("typical_p", self.typical_p);
        fields.float("xtc_probability", self.xtc_probability);
        fields.float("xtc_threshold", self.xtc_threshold);
        fields.float("repeat_penalty", self.repeat_penalty);
        fields.number("repeat_last_n", self.repeat_last_n);
        fields.float("presence_penalty", self.presence_penalty);
        fields.float("frequency_penalty", self.frequency_penalty);
        fields.float("dry_multiplier", self.dry_multiplier);
        fields.float("dry_base", self.dry_base);
        fields.number("dry_allowed_length", self.dry_allowed_length);
        fields.number("dry_penalty_last_n", self.dry_penalty_last_n);
        fields.strings("dry_sequence_breakers", self.dry_sequence_breakers);
        fields.number("mirostat", self.mirostat);
        fields.float("mirostat_tau", self.mirostat_tau);
        fields.float("mirostat_eta", self.mirostat_eta);
        fields.strings("samplers", self.samplers);
        fields.number("min_keep", self.min_keep);
        fields.number("seed", self.seed);
        fields.number(max_tokens, self.n_predict);
        fields.number("t_max_predict_ms", self.t_max_predict_ms);
        fields.number("n_keep", self.n_keep);
        fields.strings("stop", self.stop);
        fields.bool("ignore_eos", self.ignore_eos);
        self.biases(fields);
        fields.string("grammar", self.grammar);
        fields.raw("json_schema", self.json_schema, 0);
        fields.number(answers, self.n);
        fields.bool("post_sampling_probs", self.post_sampling_probs);
        fields.bool("cache_prompt", self.cache_prompt);
        fields.number("id_slot", self.id_slot);
        fields.bool("return_tokens", self.return_tokens);
        fields.bool("return_progress", self.return_progress);
        fields.bool("timings_per_token", self.timings_per_token);
        fields.strings("response_fields", self.response_fields);
        fields.number("sse_ping_interval", self.sse_ping_interval);
    }

    /// As pairs, `[[id, bias], [id, false]]`, which all three endpoints take.
    fn biases(&self, fields: &mut Fields<'_, '_>) {
        let Some(biases) = self.logit_bias else { return };
        if biases.iter().any(|(_, bias)| matches!(bias, Bias::Add(add) if !add.is_finite())) {
            fields.refuse("logit_bias");
        }
        let Some(writer) = fields.key("logit_bias") else { return };
        writer.begin(b'[');
        for &(id, bias) in biases {
            writer.begin(b'[').number(id);
            match bias {
                Bias::Add(add) => writer.float(add),
                Bias::Never => writer.bool(false),
            };
            writer.end(b']');
        }
        writer.end(b']');
    }
}
