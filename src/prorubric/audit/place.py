"""Where something can be added to an answer, and how a sentence is added or removed without touching the rest."""

from collections.abc import Mapping, Sequence

from prorubric.text.sentences import bare, bullet_of, can_follow, is_prose, is_whole, mark_end


def find_slots(pieces: Sequence[str]) -> list[int]:
    """0-based places of sentences that another can follow: closed ones, and bullets that another bullet can follow."""
    slots = []
    for place, piece in enumerate(pieces):
        is_open_bullet = not is_whole(piece) and bullet_of(piece) is not None and piece.endswith("\n")
        if is_prose(piece) and not piece.rstrip().endswith(":") and (can_follow(piece) or is_open_bullet):
            slots.append(place)
    return slots


def append(answer: str, paragraph: str) -> str:
    """The answer with a paragraph after it; the answer stays as it is to the last space."""
    if not answer.strip():
        return answer + paragraph
    newlines = len(answer) - len(answer.rstrip("\n"))
    return answer + "\n" * max(0, 2 - newlines) + paragraph


def insert(pieces: Sequence[str], sentences: Mapping[int, Sequence[str]]) -> str:
    """The answer with sentences after those at the given places."""
    text = ""
    for place, piece in enumerate(pieces):
        text += piece
        bullet = None if is_whole(piece) else bullet_of(piece)
        for sentence in sentences.get(place, ()):
            body = text.rstrip()
            space = text[len(body) :]
            # Chinese and Japanese sentences follow one another without a space.
            between = " " if body[-1:].isascii() or space else ""
            text = body + (between if bullet is None else f"\n{bullet}") + sentence + space
    return text


def remove(pieces: Sequence[str], place: int) -> str:
    """The answer without one sentence; its bullet stays if something else follows it."""
    gone = pieces[place]
    before, after = "".join(pieces[:place]), "".join(pieces[place + 1 :])
    space = gone[len(gone.rstrip()) :]
    mark = gone[: mark_end(gone)]
    goes_on = "\n" not in space and bool(after.strip())
    if goes_on and mark.strip():
        return before + mark + after
    opens_line = not before or before.endswith("\n")
    if not after.strip() or ("\n" in space and not opens_line):
        return before.rstrip() + space + after
    return before + mark.removesuffix(mark.lstrip()) + after if opens_line else before + after


def number_sentences(pieces: Sequence[str]) -> str:
    """The sentences with their numbers, as a model is shown them."""
    return "\n".join(f"[{place}] {bare(piece) or piece.strip()}" for place, piece in enumerate(pieces, 1))
