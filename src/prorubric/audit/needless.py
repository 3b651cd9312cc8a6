"""The steps that nobody needs (`needless.toml`), by domain: what the rules editor recommends for no reason."""

import tomllib
from pathlib import Path

from prorubric.compile.prompt import DOMAINS, Domain

_STEPS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
NEEDLESS: dict[Domain, tuple[str, ...]] = {domain: tuple(_STEPS[domain]) for domain in DOMAINS}
