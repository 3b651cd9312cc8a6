"""A model from one string, such as `lexical`, `gguf:PATH`, `http://host:port/v1#name` or `pkg.module:object`.

Misuse raises before any token is spent: `ConfigError` for a string that names nothing, `ModelError` for a model that
cannot be used, `MissingExtraError` for one whose extra is not installed.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.llm.accounting import Usage
from prorubric.llm.cache import CachedModel, CachedYesNo, Keeper
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.model import Model, YesNoModel
from prorubric.llm.own import import_model
from prorubric.llm.scripted import load_script

FORMS = (
    "lexical, smollm2, gguf:PATH, hf:repo/file.gguf, http://host:port/v1#name, scripted:FILE, lab:WORLD, "
    "pkg.module:object, the folder of a checkpoint"
)
# What loads optional libraries, or is built on everything here.
_LOADED_LATE = {
    **dict.fromkeys(("smollm2", "gguf", "hf"), ("prorubric.llm.local", "LocalModel")),
    "checkpoint": ("prorubric.llm.checkpoint", "CheckpointModel"),
    "lab": ("prorubric.lab.model", "LabModel"),
    "planned": ("prorubric.llm.planned", "PlannedModel"),
}
_ADDRESSES = {
    "gpt-": "https://api.openai.com/v1",
    "deepseek-": "https://api.deepseek.com/v1",
    "claude-": "https://api.anthropic.com/v1",
}


def make_model(spec: str, http: HttpConfig | None = None, usage: Usage | None = None) -> Model | YesNoModel:
    """The model that a string names."""
    if spec == "lexical":
        return LexicalModel()
    if spec.lower().startswith(("http://", "https://")):
        return HttpModel(spec, http, usage)
    kind = "checkpoint" if spec and Path(spec).is_dir() else spec.partition(":")[0]
    if kind in _LOADED_LATE:
        module, name = _LOADED_LATE[kind]
        late: Model | YesNoModel = getattr(import_module(module), name)(spec)
        return late
    if spec.startswith("scripted:"):
        return load_script(Path(spec.removeprefix("scripted:")))
    if "#" in spec or "/v1" in spec or "://" in spec:
        scheme, _, rest = spec.rpartition("://")
        fault = f"is an address with {scheme}://" if scheme else "looks like an endpoint without http:// in front"
        place, _, name = rest.partition("#")
        path = "" if "/" in place.rstrip("/") else "/v1"
        raise ConfigError(f"the model {spec!r} {fault}; write http://{place.rstrip('/')}{path}#{name or 'name'}")
    if ":" in spec and all(part.isidentifier() for part in spec.replace(":", ".").split(".")):
        return import_model(spec, FORMS)
    raise ConfigError(f"no model is called {spec!r}; known forms: {FORMS}; {hint_at_model(spec, http=http)}")


def hint_at_model(spec: str, words: Sequence[str] = ("lexical", "smollm2"), http: HttpConfig | None = None) -> str:
    """The word that may be meant, or how to write the address of a model that was given by its name alone."""
    if near := get_close_matches(spec, words, 1):
        return f"did you mean {near[0]}?"
    address = next((address for start, address in _ADDRESSES.items() if spec.startswith(start)), "https://host/v1")
    variable = (http or HttpConfig()).key_variable
    return f"a model behind an endpoint is {address}#{spec or 'name'}, with its key in {variable}"


def keep_model(model: Model | YesNoModel, journal: Keeper | None, usage: Usage) -> Model | YesNoModel:
    """A model with its calls counted and, with a journal, its replies kept."""
    if isinstance(model, YesNoModel):
        return CachedYesNo(model, journal, usage)
    return CachedModel(model, journal, usage)


def make_text_model(spec: str, http: HttpConfig | None = None, usage: Usage | None = None) -> Model:
    """The model that a string names, if it writes text."""
    return require_text(make_model(spec, http, usage))


def require_text(model: Model | YesNoModel) -> Model:
    """The model, if it writes text; `ConfigError` if it only gives probabilities."""
    if not isinstance(model, Model):
        raise ConfigError(f"{model.name} gives probabilities and does not write text; name a model that does")
    return model
