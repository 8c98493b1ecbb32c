//! The keys that a summary knows, each by its name in a file.

macro_rules! keys {
    ($(#[$doc:meta])* $name:ident: $($variant:ident = $key:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[doc = concat!("`", $key, "`")] $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            pub(super) const COUNT: usize = $name::ALL.len();

            /// The key.
            pub const fn key(self) -> &'static str {
                match self {
                    $($name::$variant => $key,)*
                }
            }

            /// The one of this key.
            pub fn from_key(key: &[u8]) -> Option<$name> {
                $name::ALL.iter().copied().find(|name| name.key().as_bytes() == key)
            }
        }
    };
}

keys! {
    /// An integer under `{arch}.`, by the rest of its key.
    Hparam:
    ContextLength = "context_length",
    EmbeddingLength = "embedding_length",
    BlockCount = "block_count",
    FeedForwardLength = "feed_forward_length",
    VocabSize = "vocab_size",
    ExpertCount = "expert_count",
    ExpertUsedCount = "expert_used_count",
    ExpertSharedCount = "expert_shared_count",
    NextnPredictLayers = "nextn_predict_layers",
    FullAttentionInterval = "full_attention_interval",
    LeadingDenseBlockCount = "leading_dense_block_count",
    PoolingType = "pooling_type",
    HeadCount = "attention.head_count",
    HeadCountKv = "attention.head_count_kv",
    KeyLength = "attention.key_length",
    ValueLength = "attention.value_length",
    KeyLengthSwa = "attention.key_length_swa",
    ValueLengthSwa = "attention.value_length_swa",
    KeyLengthMla = "attention.key_length_mla",
    ValueLengthMla = "attention.value_length_mla",
    SlidingWindow = "attention.sliding_window",
    SlidingWindowPattern = "attention.sliding_window_pattern",
    KvLoraRank = "attention.kv_lora_rank",
    QLoraRank = "attention.q_lora_rank",
    SharedKvLayers = "attention.shared_kv_layers",
    RecurrentLayers = "attention.recurrent_layers",
    RopeDimensionCount = "rope.dimension_count",
    RopeOriginalContextLength = "rope.scaling.original_context_length",
    SsmConvKernel = "ssm.conv_kernel",
    SsmInnerSize = "ssm.inner_size",
    SsmStateSize = "ssm.state_size",
    SsmTimeStepRank = "ssm.time_step_rank",
    SsmGroupCount = "ssm.group_count",
}

keys! {
    /// An integer under a fixed key.
    Field:
    FileType = "general.file_type",
    QuantizationVersion = "general.quantization_version",
    SplitNo = "split.no",
    SplitCount = "split.count",
    SplitTensorsCount = "split.tensors.count",
    BosTokenId = "tokenizer.ggml.bos_token_id",
    EosTokenId = "tokenizer.ggml.eos_token_id",
    EotTokenId = "tokenizer.ggml.eot_token_id",
    EomTokenId = "tokenizer.ggml.eom_token_id",
    UnknownTokenId = "tokenizer.ggml.unknown_token_id",
    // So spelt in the format.
    SeparatorTokenId = "tokenizer.ggml.seperator_token_id",
    PaddingTokenId = "tokenizer.ggml.padding_token_id",
}

keys! {
    /// A string under a fixed key.
    TextField:
    Architecture = "general.architecture",
    Type = "general.type",
    Name = "general.name",
    Basename = "general.basename",
    SizeLabel = "general.size_label",
    Finetune = "general.finetune",
    Version = "general.version",
    License = "general.license",
    QuantizedBy = "general.quantized_by",
    TokenizerModel = "tokenizer.ggml.model",
    TokenizerPre = "tokenizer.ggml.pre",
    ProjectorType = "clip.projector_type",
    AdapterType = "adapter.type",
}

impl Hparam {
    /// The value may be an array with an element for each layer.
    pub const fn may_be_per_layer(self) -> bool {
        matches!(
            self,
            Hparam::FeedForwardLength
                | Hparam::HeadCount
                | Hparam::HeadCountKv
                | Hparam::SlidingWindowPattern
                | Hparam::RecurrentLayers
        )
    }
}

impl Field {
    /// The value is a token's number.
    pub const fn is_token(self) -> bool {
        matches!(
            self,
            Field::BosTokenId
                | Field::EosTokenId
                | Field::EotTokenId
                | Field::EomTokenId
                | Field::UnknownTokenId
                | Field::SeparatorTokenId
                | Field::PaddingTokenId
        )
    }
}
