"""Words: how text is split into them, their stems, and which of them say something about a subject.

The word lists are the files in `data/`. Every word is stemmed as if it were English (Snowball); texts are compared with
texts, so other languages lose little. Each character of Chinese, Japanese and Korean is a word.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

# One East Asian character, or a run of letters and digits that may hold a decimal point: "38.5", "1,000".
WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:[.,]\d+)*"
)
# Thai to Burmese, Khmer, Japanese and Chinese.
_UNSPACED = re.compile(r"[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")

# One East Asian character, or what white space separates from the rest: "don't", "well-known", "38.5%".
_COUNTED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LONGEST_WORD = 30
_FEW_WORDS = 8
_ENGLISH_SHARE = 0.05
_OPENING_WORDS, _OPENING_SHARE, _LONGEST_OPENING = 3, 1 / 3, 200


@cache
def load_words(name: str) -> frozenset[str]:
    """The word list `data/NAME.txt`; lines that begin with # are comments."""
    lines = (Path(__file__).parent / "data" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


STOP_WORDS = load_words("stop")
_RUBRIC = load_words("rubric")
UNINFORMATIVE = STOP_WORDS | _RUBRIC
_ENGLISH, _FOREIGN = load_words("english"), load_words("foreign")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case English word. A string too long to be a word is returned unchanged."""
    if len(word) > _LONGEST_WORD:
        return word
    import snowballstemmer  # noqa: PLC0415 - 0.2 s, for the tables of every language

    # A stemmer holds the word that it works on, so threads cannot share one.
    stemmed: str = snowballstemmer.stemmer("english").stemWord(word)
    return stemmed


def is_content(word: str) -> bool:
    """Whether a lower-case word says something about a subject: neither a stop word nor a word of rubrics."""
    return word not in UNINFORMATIVE


def find_content_words(text: str) -> Iterator[str]:
    """The stems of the words that say something about a subject."""
    return (stem(word) for word in WORD.findall(text.lower()) if word not in UNINFORMATIVE)


def count_words(text: str) -> int:
    """How many words a person would count; signs alone, such as bullets and dashes, are none."""
    return sum(any(map(str.isalnum, word)) for word in _COUNTED.findall(text))


def is_unspaced(text: str) -> bool:
    """Whether most of a text is in a script without spaces between words, such as Chinese, Japanese or Thai."""
    characters = 0 if text.isascii() else len(_UNSPACED.findall(text))
    return characters > 0 and characters > len(LETTERS.findall(_UNSPACED.sub(" ", text)))


@lru_cache(maxsize=256)  # an answer and its checklist are looked at for every edit
def is_english(text: str) -> bool:
    """Whether enough of the small words are English; a few words in Latin letters count as English."""
    words = LETTERS.findall(text[:2_000].lower())
    if not words or sum(map(str.isascii, words)) < 0.8 * len(words):
        return False
    return len(words) < _FEW_WORDS or sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * len(words)


def are_english(texts: Sequence[str]) -> bool:
    """Whether a checklist is in English: by its small words, or by the words with which criteria open.

    A checklist is terser than an answer, so words that English shares count if it has fewer of other languages.
    """
    if is_english("\n".join(texts)):
        return True
    words = [LETTERS.findall(text[:_LONGEST_OPENING].lower()) for text in texts]
    if not any(words):
        return True
    opening = sum(not _RUBRIC.isdisjoint(found[:_OPENING_WORDS]) for found in words)
    shared, foreign = (sum(word in listed for found in words for word in found) for listed in (STOP_WORDS, _FOREIGN))
    return opening >= _OPENING_SHARE * len(texts) or shared > foreign
