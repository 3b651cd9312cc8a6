"""`prorubric serve`."""

import sys
from typing import Annotated

from cyclopts import Parameter

from prorubric.cli.options import read_http
from prorubric.cli.output import JsonFlag, count, describe_judge, literal, make_console, print_json
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.reward.server.config import ServerOptions
from prorubric.verbs.serve import ServeConfig, ServedReward, Serving, serve_rewards

_SERVER, _JUDGING, _HTTP = ServerOptions(), JudgeConfig(), HttpConfig()


def serve(
    served: Annotated[ServedReward, Parameter(name="*")],
    *,
    server: Annotated[ServerOptions, Parameter(name="*", group="Server")] = _SERVER,
    judging: Annotated[JudgeConfig, Parameter(name="*", group="Judging")] = _JUDGING,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    json: JsonFlag = False,
) -> int:
    """Serve rewards over HTTP: for OpenRLHF, slime, NeMo Gym and any other client."""
    config = ServeConfig(**vars(served), **vars(server), judging=judging, http=read_http(http))
    serve_rewards(config, print_json if json else _print_serving)
    return 0


def _print_serving(serving: Serving) -> None:
    about = f"{serving.scheme}, {count(serving.tasks, 'task')}, judge: {describe_judge(serving.judge)}"
    make_console().print(literal(f"{serving.url}  {about}"), soft_wrap=True)
    sys.stdout.flush()
