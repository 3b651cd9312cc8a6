"""A model that does not exist yet, such as the checkpoint of a training that has not been made: only for plans."""

from prorubric.errors import ModelError
from prorubric.llm.model import Outcome, Request


class PlannedModel:
    """Has a name and an identity, and cannot be asked."""

    def __init__(self, spec: str) -> None:
        self.name = self.identity = spec

    async def complete(self, request: Request) -> Outcome:  # noqa: ARG002 - nothing is asked
        """Refuse: there is nothing that could answer."""
        raise ModelError(f"{self.name} is planned and cannot be asked; train it first")

    async def close(self) -> None:
        """Do nothing."""
