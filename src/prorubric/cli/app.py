"""`prorubric VERB …`: exit code 0 done, 1 done but a check failed, 2 could not run (one line says why)."""

import io
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import takewhile
from pathlib import Path

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnknownCommandError, UnusedCliTokensError
from pydantic import ValidationError

import prorubric
from prorubric.cli.output import drop_stdout, make_console, say
from prorubric.errors import ProRubricError
from prorubric.rubric.base import read_fault
from prorubric.text.show import shorten

app = App(
    name="prorubric",
    help="Rubric rewards that a policy cannot buy.",
    version=prorubric.__version__,
    help_format="plaintext",
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(negative_bool=(), negative_iterable=()),
)

# A verb's module is imported when the verb is used; the help lines are here so `--help` imports none of them.
_VERBS = {
    "lint": "Check a rubric file without calling a model.",
    "check": "Check rubric files in a repository: what is wrong, and what got more hackable since a commit.",
    "convert": "Convert a rubric file of any supported format into a tasks file or a trainer's format.",
    "compile": "Group each checklist into two to five dimensions that must hold together.",
    "judge": "Judge a file of responses and score them under one or more schemes.",
    "score": "Score the stored verdicts of a run again, without calling a model.",
    "audit": "Measure what a reward pays for before you train on it.",
    "calibrate": "Compare a judge with people on labelled statements and pairs of answers.",
    "serve": "Serve rewards over HTTP: for OpenRLHF, slime, NeMo Gym and any other client.",
    "train": "Plan and run training from one recipe file: every method of the paper, resumable and monitored.",
    "evaluate": "Compare policies on benchmarks, with paired statistics.",
    "study": "Compile, train, audit, evaluate and report everything that one study file describes.",
    "report": "Redraw the tables, figures and page of a study, or the page of another run, from its folder.",
    "lab": "Watch a policy score higher and answer worse, in a small simulated world.",
    "view": "Look at runs in the browser, compare them, and review compiled rubrics.",
    "schema": "Print the JSON Schema of a file, for editors and other programs.",
    "demo": "Lint, compile, score and audit the sample pack, offline.",
}
for _verb, _help in _VERBS.items():
    app.command(f"prorubric.cli.{_verb}:{_verb}", help=_help)

_HELP_WIDTH = 100


def load_verb(arguments: Sequence[str]) -> None:
    """Load what the verb of a command line needs, if it has one."""
    if arguments and arguments[0] in _VERBS:
        import_module(f"prorubric.cli.{arguments[0]}")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given, console=make_console(_HELP_WIDTH), exit_on_error=False, print_error=False)
    except ProRubricError as error:
        say(f"prorubric: {error}")
        return 2
    except CycloptsError as error:
        verb = f" {given[0]}" if given and given[0] in _VERBS else ""
        said = _explain(error, given)
        say(f"prorubric{verb}: {said}{'' if said.endswith('?') else ';'} see prorubric{verb} --help")
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        # Of two names the second is the one that the user wrote: a file is written under a temporary name, then moved.
        say(f"prorubric: {error.filename2 or error.filename or 'a file'}: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        say("prorubric: stopped")
        return 130
    return code if isinstance(code, int) else 0


def main() -> None:
    """The program behind the command `prorubric`, once its modules are loaded (see `prorubric.__main__`)."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed with `>&-`: discard what is written
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open until the end
        elif isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a character gets its code, not a traceback.
            stream.reconfigure(errors="backslashreplace")
    code = 0
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
    sys.exit(code)


def _explain(error: CycloptsError, given: Sequence[str]) -> str:
    """What is wrong with the command line: first what is misspelt, which is why another option seems to be missing."""
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        word, verbs = error.unused_tokens[0], [name for name in error.app or app if not name.startswith("-")]
        kind = "option" if word.startswith("-") else "command"
        near = get_close_matches(word, verbs, 1)
        return f"unknown {kind} {word!r}; {f'did you mean {near[0]}? ' if near else ''}commands: {', '.join(verbs)}"
    options = (error.app or app).assemble_argument_collection()
    known = [name for option in options for name in option.names]
    for word in takewhile("--".__ne__, given):
        name = word.partition("=")[0]
        try:
            _ = name.startswith("--") and options.match(name)
        except ValueError:
            near = get_close_matches(name, known, 1)
            return f"unknown option {name}" + (f"; did you mean {near[0]}?" if near else "")
    if isinstance(error.__cause__, ValidationError):
        fault = error.__cause__.errors(include_url=False)[0]
        # A record inside a config, such as `http`, is not an option, and its fields are.
        steps = ("--" + str(step).replace("_", "-") for step in fault["loc"])
        option = next((step for step in steps if step in known), "")
        message = read_fault(fault).message
        if option:
            message = f"{option}: {message} (got {shorten(repr(fault['input']))})"
        return f"{option} is missing" if fault["type"] == "missing" else message
    if isinstance(error, UnusedCliTokensError):
        unused = error.unused_tokens or ()
        return f"unexpected argument{'s' * (len(unused) > 1)}: {', '.join(map(repr, unused))}"
    if isinstance(error, MissingArgumentError) and error.argument:
        needed = error.argument.token_count()[0]
        arguments = "an argument" if needed == 1 else f"{needed} arguments"
        return f"{error.keyword or error.argument.name} requires {arguments}"
    return str(error).strip().rstrip(".")
