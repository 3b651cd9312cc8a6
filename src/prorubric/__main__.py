"""`prorubric` and `python -m prorubric`: the entry point.

Loading the modules takes long enough for a user to press Ctrl-C. So this module loads nothing heavy, and until the
program is loaded Ctrl-C ends it at once, with the same line and exit code as later: there is nothing to clean up yet,
and an exception in the middle of an import may surface as a different one, or not at all.
"""

import os
import sys

_STOPPED = 130


def main() -> None:
    """Load the program and run it."""
    try:
        _load()
        from prorubric.cli.app import main as run_program  # noqa: PLC0415 - loaded above, where Ctrl-C is harmless

        run_program()
    except KeyboardInterrupt:
        _say_stopped()
        sys.exit(_STOPPED)


def _load() -> None:
    """Load the program and the verb; until then Ctrl-C ends the process at once, unless it is ignored."""
    import signal  # noqa: PLC0415 - even this takes a moment, in which `main` has to be there to catch Ctrl-C

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop_at_once)
    try:
        from prorubric.cli.app import load_verb  # noqa: PLC0415 - this is what takes long, and so does the verb

        load_verb(sys.argv[1:])
    finally:
        signal.signal(signal.SIGINT, before)


def _stop_at_once(*_: object) -> None:
    _say_stopped()
    os._exit(_STOPPED)


def _say_stopped() -> None:
    try:
        os.write(2, b"prorubric: stopped\n")
    except OSError:  # stderr is closed
        return


if __name__ == "__main__":
    main()
