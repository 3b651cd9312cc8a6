"""Needless steps by domain (`needless.toml`), which the rules editor recommends without a reason."""

import tomllib
from pathlib import Path

from prorubric.compile.prompt import DOMAINS, Domain

_STEPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NEEDLESS: dict[Domain, tuple[str, ...]] = {domain: tuple(_STEPS[domain]) for domain in DOMAINS}
