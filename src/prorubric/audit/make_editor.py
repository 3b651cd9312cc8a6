"""An editor from one string: `rules`, or a model that writes text. Misuse raises before a token is spent."""

from prorubric.audit.edits import Editor
from prorubric.audit.llm_editor import LlmEditor
from prorubric.audit.rules_editor import NAME as RULES
from prorubric.audit.rules_editor import RulesEditor
from prorubric.errors import ConfigError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import FORMS, keep_text, make_text_model

_ONE_WORD = (RULES, "smollm2", "lexical")


def make_editor(
    spec: str, journal: Journal | None = None, http: HttpConfig | None = None, usage: Usage | None = None
) -> Editor:
    """The editor that a string names; a model's replies are kept in the journal and its calls counted."""
    if spec == RULES:
        return RulesEditor()
    if spec not in _ONE_WORD and not any(sign in spec for sign in ":/"):
        known = FORMS.removeprefix("lexical, ")
        raise ConfigError(f"no editor is called {spec!r}; known forms: {RULES}, {known}")
    counted = usage or Usage()
    model = make_text_model(spec, http, counted)
    return LlmEditor(model if journal is None else keep_text(model, journal, counted))
