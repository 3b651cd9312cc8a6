"""A model in the folder of a checkpoint, as training leaves it, through transformers: one request at a time.

Use it to look at a small policy where it was trained. For many answers of a large one, serve the folder with vLLM or
SGLang and name the endpoint.
"""

import asyncio
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from prorubric.errors import ModelError
from prorubric.llm.local import fingerprint_file, import_optional
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.llm.thinking import drop_thinking
from prorubric.text.show import shorten

_FEATURE = "the checkpoint of a policy"
_TURN = threading.Lock()
"""All checkpoints of a process take turns: transformers loads one at a time, and torch has one random state."""
_SETTINGS = (
    *("config.json", "generation_config.json"),
    *("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "vocab.json", "merges.txt", "tokenizer.model"),
)


def make_seed(request: Request, shown: str) -> int:
    """The seed of one reply. If all prompts shared one, their replies would not be independent of each other."""
    digest = hashlib.sha256(f"{request.seed or 0} {request.draw} {shown}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


class CheckpointModel:
    """A folder that transformers can load. It is checked when made and loaded when first asked."""

    def __init__(self, folder: str) -> None:
        weights = sorted(Path(folder).glob("*.safetensors")) or sorted(Path(folder).glob("pytorch_model*.bin"))
        if not (Path(folder) / "config.json").is_file() or not weights:
            raise ModelError(f"{folder}: no checkpoint in this folder", remedy="it needs config.json and weights")
        for library in ("torch", "transformers"):
            import_optional(library, _FEATURE, "trl")
        self.name = folder
        settings = [path for name in _SETTINGS if (path := Path(folder) / name).is_file()]
        parts = "".join(fingerprint_file(path) for path in [*weights, *settings])
        self.identity = f"checkpoint:{hashlib.sha256(parts.encode()).hexdigest()}"
        """The ends and sizes of the weights, the settings and the tokenizer: a copy elsewhere is the same model."""
        self._loaded: tuple[Any, Any] | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prorubric-checkpoint")
        self._is_stopped = False

    async def complete(self, request: Request) -> Outcome:
        """Answer one request with the model's chat template, without its thinking."""
        return await asyncio.wrap_future(self._worker.submit(self._wait_and_complete, request))

    def stop(self) -> None:
        """End the requests that wait for their turn; the running one finishes."""
        self._is_stopped = True

    async def close(self) -> None:
        """Free the memory after the running call. Safe to call twice."""
        self._worker.shutdown(wait=False)
        self._loaded = None

    def _wait_and_complete(self, request: Request) -> Outcome:
        with _TURN:
            return self._complete(request)

    def _complete(self, request: Request) -> Outcome:
        if self._is_stopped:
            return Failure("gave-up", "stopped before it was asked", attempts=0)
        torch, jinja = import_optional("torch", _FEATURE, "trl"), import_optional("jinja2", _FEATURE, "trl")
        model, tokenizer = self._load()
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        options = {} if request.thinking is None else {"enable_thinking": request.thinking}
        try:
            shown = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options)
        except jinja.TemplateError:
            return Failure("reply", "the chat template does not take this conversation", status=400)
        tokens = tokenizer(shown, return_tensors="pt", add_special_tokens=False).to(model.device)
        length, most = tokens["input_ids"].shape[1], getattr(model.config, "max_position_embeddings", None)
        if most is not None and length >= most:
            return Failure("reply", f"the prompt has {length} tokens, but the model accepts {most}", status=413)
        sampling: dict[str, Any] = {"do_sample": False}
        if request.temperature > 0:
            sampling = {"do_sample": True, "temperature": request.temperature, "top_p": request.top_p}
            sampling |= {"top_k": request.top_k or 0, "min_p": request.min_p}
        torch.manual_seed(make_seed(request, shown))
        room = request.max_tokens if most is None else min(request.max_tokens, most - length)
        with torch.inference_mode():
            made = model.generate(**tokens, max_new_tokens=room, pad_token_id=tokenizer.pad_token_id, **sampling)
        written = made[0, length:]
        ends = model.generation_config.eos_token_id
        is_ended = len(written) > 0 and int(written[-1]) in ([ends] if isinstance(ends, int) else ends or [])
        text = drop_thinking(tokenizer.decode(written, skip_special_tokens=True), shown)
        return Reply(text, length, len(written), "stop" if is_ended else "length")

    def _load(self) -> tuple[Any, Any]:
        if self._loaded is None:
            libraries = ("torch", "transformers", "safetensors")
            torch, transformers, safetensors = (import_optional(name, _FEATURE, "trl") for name in libraries)
            device = "cuda" if torch.cuda.is_available() else "cpu"
            transformers.utils.logging.disable_progress_bar()
            try:
                tokenizer = transformers.AutoTokenizer.from_pretrained(self.name)
                model = transformers.AutoModelForCausalLM.from_pretrained(self.name, dtype="auto").to(device).eval()
            except (OSError, ValueError, safetensors.SafetensorError) as error:
                why = shorten(" ".join(str(error).split()), 200)
                raise ModelError(f"{self.name}: the checkpoint cannot be loaded", why) from None
            if tokenizer.chat_template is None:
                raise ModelError(f"{self.name}: its tokenizer has no chat template", remedy="save one with it")
            self._loaded = model, tokenizer
        return self._loaded
