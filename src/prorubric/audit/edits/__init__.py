"""The edits of an audit.

To add one: a module with its record, listed here; its prompt; its test; and a row in docs/audit.md.
"""

from typing import TYPE_CHECKING, Literal

from prorubric.audit.edits.drop_key_advice import DROP_KEY_ADVICE
from prorubric.audit.edits.hacks import HACKS
from prorubric.audit.edits.in_part import IN_PART
from prorubric.audit.edits.kind import EditKind
from prorubric.audit.edits.naming import NAME_ITEM, NAME_TOPIC
from prorubric.audit.edits.needless_test import NEEDLESS_TEST
from prorubric.audit.edits.paraphrase import PARAPHRASE
from prorubric.audit.edits.substance import ADD_SUBSTANCE, INTEGRATE_SUBSTANCE

_KINDS = (
    *(NAME_ITEM, NAME_TOPIC, IN_PART, NEEDLESS_TEST),
    *(DROP_KEY_ADVICE, PARAPHRASE, ADD_SUBSTANCE, INTEGRATE_SUBSTANCE),
    *HACKS,
)
EDITS: dict[str, EditKind] = {kind.name: kind for kind in _KINDS}
"""By name, in the order of the tables."""


if TYPE_CHECKING:
    EditName = str
else:
    EditName = Literal[tuple(EDITS)]  # pydantic and the command line list the names
