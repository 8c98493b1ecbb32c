"""Serves a model over HTTP with the llama.cpp inside the PyPI package xllamacpp.

Takes those of llama-server's flags that the tests use, and behaves like it where they look: the socket is
open, and /health answers 503, while the model loads; a `--host` that ends in `.sock` is a Unix socket; an
unknown flag, a model that does not load or an endpoint that is taken ends it with status 1.

Unlike llama-server, it ignores the LLAMA_ARG_ variables (but not LLAMA_API_KEY), and SIGTERM or SIGINT ends it by
that signal.
"""

import argparse
import importlib.metadata
import os
import signal
import sys

import xllamacpp

TYPES = {
    "f32": xllamacpp.ggml_type.GGML_TYPE_F32,
    "f16": xllamacpp.ggml_type.GGML_TYPE_F16,
    "bf16": xllamacpp.ggml_type.GGML_TYPE_BF16,
    "q8_0": xllamacpp.ggml_type.GGML_TYPE_Q8_0,
    "q4_0": xllamacpp.ggml_type.GGML_TYPE_Q4_0,
    "q4_1": xllamacpp.ggml_type.GGML_TYPE_Q4_1,
    "iq4_nl": xllamacpp.ggml_type.GGML_TYPE_IQ4_NL,
}
FLASH = {
    "on": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    "auto": xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO,
}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        fail(message)


def fail(message):
    sys.exit(f"error: {message}")


def layers(text):
    return {"auto": -1, "all": -2}.get(text) or int(text)


def arguments():
    parser = Parser(description=__doc__, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", required=True, metavar="FILE")
    add("-a", "--alias", metavar="NAME")
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=8080)
    add("--api-key", metavar="KEY")
    # What it has of these is for the CPU alone.
    add("-dev", "--device", choices=["none"])
    add("--cors-origins", metavar="ORIGINS")
    add("-c", "--ctx-size", type=int, default=0)
    add("-n", "--predict", "--n-predict", type=int, default=-1)
    add("-np", "--parallel", type=int, default=-1)
    add("-b", "--batch-size", type=int, default=2048)
    add("-ub", "--ubatch-size", type=int, default=512)
    add("-t", "--threads", type=int, default=-1)
    add("-ngl", "--gpu-layers", "--n-gpu-layers", type=layers, default=-1)
    add("-ctk", "--cache-type-k", choices=TYPES, default="f16")
    add("-ctv", "--cache-type-v", choices=TYPES, default="f16")
    add("-fa", "--flash-attn", choices=FLASH, default="auto")
    add("-fit", "--fit", choices=["on", "off"], default="on")
    add("-fitt", "--fit-target", type=int, metavar="MIB")
    add("-kvu", "--kv-unified", action="store_true")
    add("-lv", "--verbosity", type=int, default=3)
    add("--sleep-idle-seconds", type=int, default=-1)
    add("--chat-template", default="", metavar="TEMPLATE")
    add("--jinja", action=argparse.BooleanOptionalAction, default=True)
    add("--warmup", action=argparse.BooleanOptionalAction, default=True)
    add("--slots", action=argparse.BooleanOptionalAction, default=True)
    add("--context-shift", action=argparse.BooleanOptionalAction, default=False)
    add("--embedding", "--embeddings", action="store_true")
    add("--metrics", action="store_true")
    add("--props", action="store_true")
    add("--special", action="store_true")
    given, unknown = parser.parse_known_args()
    if unknown:
        fail(f"invalid argument: {unknown[0]}")
    return given


def parameters(given):
    params = xllamacpp.CommonParams()
    params.model.path = given.model
    if given.alias:
        params.model_alias = {given.alias}
    params.hostnames = [given.host]
    params.port = given.port
    key = given.api_key or os.environ.get("LLAMA_API_KEY")
    if key:
        params.api_keys = [key]
    if given.cors_origins:
        params.cors_origins = given.cors_origins
    params.n_ctx = given.ctx_size
    params.n_predict = given.predict
    params.n_parallel = given.parallel
    params.n_batch = given.batch_size
    params.n_ubatch = given.ubatch_size
    params.cpuparams.n_threads = given.threads
    params.n_gpu_layers = given.gpu_layers
    params.cache_type_k = TYPES[given.cache_type_k]
    params.cache_type_v = TYPES[given.cache_type_v]
    params.flash_attn_type = FLASH[given.flash_attn]
    params.fit_params = given.fit == "on"
    if given.fit_target is not None:
        params.fit_params_target = [given.fit_target * 1024 * 1024] * len(params.fit_params_target)
    params.kv_unified = given.kv_unified
    params.verbosity = given.verbosity
    params.sleep_idle_seconds = given.sleep_idle_seconds
    params.chat_template = given.chat_template
    params.use_jinja = given.jinja
    params.warmup = given.warmup
    params.endpoint_slots = given.slots
    params.ctx_shift = given.context_shift
    params.endpoint_metrics = given.metrics
    params.endpoint_props = given.props
    params.special = given.special
    if given.embedding:
        params.embedding = True
    return params


def main():
    # Python's own handler would wait for the interpreter, which is inside the server's C++ while it loads.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:] == ["--version"]:
        return print(f"version: xllamacpp {importlib.metadata.version('xllamacpp')}")
    if sys.argv[1:] == ["--list-devices"]:
        return print("Available devices:\n  (none)")
    given = arguments()
    try:
        server = xllamacpp.Server(parameters(given))
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        fail(error)
    while server:
        signal.pause()


main()
