"""Options that the command line can only give as text."""

import pytest

from prorubric import HttpConfig
from prorubric.cli.options import read_http


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"chat_template_kwargs": {"enable_thinking": "false"}}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ({"top_k": "5", "name": "x", "none": "null"}, {"top_k": 5, "name": "x", "none": None}),
        ({}, {}),
    ],
)
def test_leaves_of_the_extra_body_are_read_as_json(given: dict[str, object], read: dict[str, object]) -> None:
    assert read_http(HttpConfig(extra_body=given)).extra_body == read
