"""An editor from one string: `rules`, or a model that writes text. Misuse raises before a token is spent."""

from collections.abc import Callable

from prorubric.audit.edits import Editor
from prorubric.audit.llm_editor import LlmEditor
from prorubric.audit.rules_editor import NAME as RULES
from prorubric.audit.rules_editor import RulesEditor
from prorubric.errors import ConfigError
from prorubric.llm.make import FORMS, hint_at_model, make_text_model
from prorubric.llm.model import Model

_ONE_WORD = (RULES, "smollm2", "lexical")


def make_editor(spec: str, make_model: Callable[[str], Model] = make_text_model) -> Editor:
    """The editor that a string names; `make_model` makes its model, where it is one."""
    if spec == RULES:
        return RulesEditor()
    if spec not in _ONE_WORD and not any(sign in spec for sign in ":/"):
        known = FORMS.removeprefix("lexical, ")
        raise ConfigError(
            f"no editor is called {spec!r}; known forms: {RULES}, {known}; {hint_at_model(spec, (RULES, 'smollm2'))}"
        )
    return LlmEditor(make_model(spec))
