"""Which tests need more than the main environment, and that none is in the wrong set."""

import pytest

from tests.train.running import find_python, trainers


def test_a_test_of_the_main_set_cannot_use_another_environment() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"mark it with tests\.train\.running\.trainers"):
        find_python("trl")


@trainers
def test_what_needs_another_environment_is_extended(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("extended") is not None


@pytest.mark.xdist_group("ray")
def test_what_starts_ray_is_extended(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("extended") is not None
