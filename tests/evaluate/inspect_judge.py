"""A judge in the process of Inspect; `tests/evaluate/test_inspect.py` has what its verdicts are worth."""

from prorubric.llm.model import Request
from prorubric.llm.scripted import ScriptedModel


def _judge(request: Request) -> str | None:
    """Fact 0 is always said and fact 1 never; on prompt 2 it cannot be read, and a call about prompt 9 fails.

    The policy's answer to task 1 is much better than the baseline's, those to others a little worse.
    """
    prompt = request.messages[-1].content
    if "Do task" in prompt:
        is_first = prompt.index("I did it.") < prompt.index(" did task")
        if "Do task 1." in prompt:
            return "[[A>>B]]" if is_first else "[[B>>A]]"
        return "[[B>A]]" if is_first else "[[A>B]]"
    if "remedy 9" in prompt:
        return None
    if "remedy 2" in prompt and "fact 0" in prompt:
        return "It is hard to say."
    return '{"criteria_met": true}' if "fact 0" in prompt else '{"criteria_met": false}'


JUDGE = ScriptedModel(_judge, name="words")
