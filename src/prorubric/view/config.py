"""The options of `prorubric view`: what is shown, where it is served, and which judge may be asked."""

from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges
from prorubric.llm.http import HttpConfig
from prorubric.rubric.base import config_record


@config_record
class ViewConfig:
    """What is shown, where it is served, and which judge may be asked."""

    path: Path = Path()
    """Folder with runs at any depth, a single run folder, or a compiled tasks file to review."""
    _: KW_ONLY
    host: str = "127.0.0.1"
    """Address to listen on; unless it is loopback, the page needs a token, which is part of the printed URL."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8742
    """Port to listen on; 0 picks a free one."""
    open: bool = True
    """Open the page in a browser."""
    judge: Judges | None = None
    """One or more judges that the page may call: lexical, http://host:port/v1#name, gguf:PATH …; by default none."""
    compare: Path | None = None
    """Another compilation of the tasks under review, to see where the two disagree."""
    verdicts: Path | None = None
    """Folder of a judge run on the tasks under review; each change shows what it does to the scores of this run."""
    who: str = ""
    """Your name in the review, by default that of your account; it can be changed on the page."""
    export: Path | None = None
    """Write the reviewed tasks to this file instead of opening the page."""
    accepted_only: bool = False
    """Export only tasks that were accepted."""
    overwrite: bool = False
    """Replace an existing export."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
