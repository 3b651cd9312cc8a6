"""The servers that generate and judge, for runs of a whole verb."""

from tests.compile.conftest import server
from tests.reward.conftest import judging_server

__all__ = ["judging_server", "server"]
