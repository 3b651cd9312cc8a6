"""`prorubric serve`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, describe_judge, make_console, print_json, print_line
from prorubric.reward.server.config import ServerOptions
from prorubric.text.show import count
from prorubric.verbs.serve import ServeConfig, Serving, serve_rewards

flatten_options(ServeConfig)
flatten_options(ServerOptions, "Server")


def serve(config: Annotated[ServeConfig, Parameter(name="*")], *, json: JsonFlag = False) -> int:
    """Serve rewards over HTTP: for OpenRLHF, slime, NeMo Gym and any other client."""

    def print_serving(serving: Serving) -> None:
        about = f"{serving.scheme}, {count(serving.tasks, 'task')}, judge: {describe_judge(serving.judge)}"
        print_line(make_console(), f"{serving.url}  {about}")
        sys.stdout.flush()

    serve_rewards(read_http(config), print_json if json else print_serving)
    return 0
