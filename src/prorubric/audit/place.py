"""Where something can be put into an answer, and how a sentence is taken out of one, without touching the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prorubric.text.sentences import bare, bullet_of, can_follow, is_prose, is_whole, mark_end, split_sentences


@dataclass(frozen=True, slots=True)
class Pieces:
    """An answer as its sentences."""

    pieces: tuple[str, ...]
    slots: tuple[int, ...]
    """0-based places of the sentences behind which another can stand."""

    @classmethod
    def of(cls, answer: str) -> "Pieces":
        """Split an answer and find the places in it."""
        pieces = tuple(split_sentences(answer))
        return cls(pieces, tuple(place for place, piece in enumerate(pieces) if _is_slot(piece)))


def _is_slot(piece: str) -> bool:
    """True behind a sentence that is closed, and behind a bullet, which can be followed by another."""
    if not is_prose(piece) or piece.rstrip().endswith(":"):
        return False
    return can_follow(piece) or (not is_whole(piece) and bullet_of(piece) is not None and piece.endswith("\n"))


def append(answer: str, paragraph: str) -> str:
    """The answer with a paragraph of its own behind it; the answer stays as it is to the last space."""
    if not answer.strip():
        return answer + paragraph
    newlines = len(answer) - len(answer.rstrip("\n"))
    return answer + "\n" * max(0, 2 - newlines) + paragraph


def insert(pieces: Sequence[str], sentences: Mapping[int, Sequence[str]]) -> str:
    """The answer with sentences behind those at the given places."""
    text = ""
    for place, piece in enumerate(pieces):
        text += piece
        for sentence in sentences.get(place, ()):
            text = _insert_behind(text, piece, sentence)
    return text


def _insert_behind(text: str, piece: str, sentence: str) -> str:
    body = text.rstrip()
    space = text[len(body) :]
    bullet = bullet_of(piece)
    if not is_whole(piece) and bullet is not None:
        return f"{body}\n{bullet}{sentence}{space}"
    # Chinese and Japanese sentences follow one another without a space.
    between = " " if body[-1:].isascii() or space else ""
    return f"{body}{between}{sentence}{space}"


def remove(pieces: Sequence[str], place: int) -> str:
    """The answer without one sentence; its bullet stays where something else is left behind it."""
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
