"""`prorubric VERB …`: exit code 0 done, 1 done and what was checked failed, 2 could not run (one line says why)."""

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from pydantic import ValidationError

import prorubric
from prorubric.cli.output import say
from prorubric.errors import ProRubricError
from prorubric.rubric.record import summarize

app = App(
    name="prorubric",
    help="Rubric rewards that a policy cannot buy.",
    version=prorubric.__version__,
    result_action="return_value",
)

# A verb's module is imported when the verb is used; its help line stands here so that `--help` imports none.
_VERBS = {
    "lint": "Look at a file of rubrics before a token is spent.",
    "convert": "Turn a rubric file of any known origin into a tasks file, with a manifest.",
    "demo": "Lint the sample pack and score its answers under every scheme, offline.",
}
for _verb, _help in _VERBS.items():
    app.command(f"prorubric.cli.{_verb}:{_verb}", help=_help)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
    except ProRubricError as error:
        say(f"prorubric: {error}")
        return 2
    except CycloptsError as error:
        say(f"prorubric: {_one_line(error)}; see prorubric --help")
        return 2
    except OSError as error:
        say(f"prorubric: {error.filename or 'a file'}: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        say("prorubric: stopped")
        return 130
    return code if isinstance(code, int) else 0


def main() -> None:
    """The program behind the command `prorubric`."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        # Somebody reads with `| head`: what they did not read is not our error, and Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _one_line(error: CycloptsError) -> str:
    cause = error.__cause__
    return summarize(cause) if isinstance(cause, ValidationError) else " ".join(str(error).split())
