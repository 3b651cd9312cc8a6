"""Failure clauses: the sentences of a description that say in explicit words what voids an answer ("Fails if …").

The wordings are English, German, French, Spanish and Chinese, and each is narrow. A sentence of subject matter must not
pass for a clause: the control without failure clauses would lose a demand. Other wordings are not recognised.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from prorubric.text.sentences import split_sentences

SHORTEST_DESCRIPTION = 40
"""A description that would be shorter than this without its failure clauses keeps them."""

_LINE_BREAK = re.compile(r"\s*\n\s*")
# Clause wording, not the noun: "heart failure changes the choice of drug" is what a good answer explains, and so is
# what to do when the first drug fails, what a post-void residual is and where a law does not hold.
_REPLY = r"(?:answers?|responses?|reply|replies)"
_ANSWER = rf"(?:{_REPLY}|(?:criterion|dimension|standard)s?)"
_THIS = r"(?:this|the|that)\s+(?:criteri(?:on|a)|dimension|standard|requirement)"
_WHERE = r"(?:if|when|where|whenever|unless)\b"
_MET = r"(?:met|satisfied|fulfilled)"
_NOT = r"(?:do(?:es)?\s+not|do(?:es)?n['’]t|cannot)"
_ZERO = r"(?:zero|0)(?:\s+points)?"
_BAR = r"(?:meet|clear|reach)\s+the\s+bar\b(?!\s+(?:for|of|to|set|exam\w*)\b)"
_IT_DOES = rf"(?:it|(?:the|an?|any)\s+{_REPLY}|(?!\w*thing\b)\w+ing)\b"
_HOWEVER = r"(?:\W*$|,?\s+(?:however|whatever|regardless|no\s+matter|even)\b)"
_OPENING = re.compile(
    r"\W*(?:"
    + "|".join(
        (
            r"(?:it\s+(?:also\s+)?)?fails?\b",
            rf"failure(?:\s*:|\s+(?:occurs|conditions?|{_WHERE}|means\s+(?:that\s+)?{_IT_DOES}))",
            rf"(?:unmet|unacceptable|no\s+credit|automatic\s+fail(?:ure)?)(?:\s*:|\s+(?:{_WHERE}|for\b))",
            rf"not\s+(?:{_MET}|acceptable)(?:\s*:|\s+{_WHERE})",
            rf"(?:it|that)\s+is\s+not\s+{_MET}\b(?!\s+(?:by|with)\b)",
            rf"(?:an?\s+|any\s+|the\s+)?failing\s+{_REPLY}\b(?!\s+(?:to|of|on|in|at|from|sheet|rate|time)s?\b)",
            # The steps of a clinical scale are "score 0 if absent, 1 if slow".
            rf"score\s+(?:it\s+)?{_ZERO}\s+(?:{_WHERE}|for\s+(?:any|an|every)\s+{_REPLY})"
            rf"(?!.*\b(?:[1-9]|one|two)\s+(?:points?\s+)?(?:{_WHERE}|for\b))",
            rf"reject\s+(?:(?:any|an?|every|all|the)\s+)?{_REPLY}\s+(?:that|which|{_WHERE})",
            rf"(?:it|this)\s+{_NOT}\s+pass\s+(?:if|unless)\b",
            rf"(?:(?:it|this)\s+)?{_NOT}\s+{_BAR}",
            rf"(?:(?:an?|any)\s+)?{_REPLY}\s+(?:that|which)\b.{{0,300}}\s(?:is|are)\s+(?:not\s+acceptable|rejected)\W*$",
        )
    )
    + ")"
)
"""With what a sentence begins that is a clause."""
# A word, and the wordings that hold it: one pattern for all would cost ten times as much.
_WORDINGS = tuple(
    (hint, re.compile("|".join(wordings)))
    for hint, *wordings in (
        (
            "fail",
            rf"fails?\s+{_THIS}\b",
            rf"{_ANSWER}\s+(?:(?:also|would|should|must|then)\s+)?fails?\b",
            rf"{_ANSWER}\s+(?:that|which)\b.{{0,300}}\bfails?\b(?!\s+to\b)",
            r"(?:count|marked|judged|treated|considered|deemed)(?<!\bnot count)s?\s+(?:as\s+)?(?:a\s+)?"
            r"fail(?:ing|ed|ure)?\b",
        ),
        (
            "not",
            rf"th(?:e\s+whole|is(?:\s+(?:criteri(?:on|a)|dimension|standard|requirement))?)\s+(?:is|are)\s+not\s+{_MET}\b"
            r"(?!\s+(?:by|with)\b)",
            rf"do(?:es)?\s+not\s+(?:meet|satisfy|fulfill?)\s+{_THIS}\b(?!\s+(?:of|for|set)\b)",
            rf"{_ANSWER}\s+(?:(?:that|which|with|without|\w+ing)\b.{{0,300}}\s)?(?:do(?:es)?\s+not|cannot)\s+(?:count|pass)"
            rf"(?:\s+{_WHERE}|[;:]|{_HOWEVER})",
            rf"(?:an|any|the|this|such)\s+{_REPLY}\s+(?:is|are)\s+not\s+acceptable\b(?!\s+(?:to|in|under)\b)",
        ),
        (
            "void",
            rf"\bvoids?\s+(?:it|this|all|everything|the\s+(?:whole|rest|{_ANSWER}))\b",
            rf"{_ANSWER}\s+(?:is|are)\s+void(?:ed)?\b",
        ),
        ("unacceptable", rf"{_ANSWER}\s+(?:is|are)\s+unacceptable\b"),
        (
            "disqualif",
            rf"{_ANSWER}\s+(?:is|are)\s+disqualified\b",
            rf"disqualif(?:ies|y)\s+(?:it\b|(?:the|an|any)\s+{_ANSWER}\b)",
        ),
        ("the bar", rf"{_REPLY}\s+(?:(?:that|which)\b.{{0,300}}\s)?{_NOT}\s+{_BAR}"),
        ("rejected", rf"{_REPLY}\s+(?:is|are)\s+rejected\s+{_WHERE}"),
        ("score", rf"{_REPLY}\s+(?:(?:that|which)\b.{{0,300}}\s)?scores?\s+(?:an?\s+)?{_ZERO}(?:\s+{_WHERE}|\W*$)"),
        (
            "zero",
            rf"{_REPLY}\s+(?:(?:that|which)\b.{{0,300}}\s)?(?:gets?|receives?|earns?)\s+(?:an?\s+)?{_ZERO}(?:\s+{_WHERE}|\W*$)",
        ),
    )
)
# "The reader learns that the rule fails when …" asks an answer to say so; elsewhere these words are a clause.
_UNLESS_TOLD = tuple(
    (hint, re.compile("|".join(wordings)))
    for hint, *wordings in (
        (
            "fail",
            rf"fail(?<!may fail)(?<!can fail)(?<!might fail)(?<!could fail)s?\s+(?:{_WHERE}|by\b|to\s+meet\b)",
            rf"\b(?:is|are)\s+(?:failed|a\s+failure)\s+(?:{_WHERE}|by\b|to\b)",
            rf"\b(?:is|are|means)\s+an?\s+automatic\s+fail(?:ure)?{_HOWEVER}",
        ),
        (
            "credit",
            r"(?:earn|get|receive|deserve)s?\s+no\s+credit\b(?!\s+(?:card|score|history|line|check|on|from)s?\b)",
        ),
        ("not", rf"th(?:e|at)\s+(?:criterion|dimension|standard)\s+is\s+not\s+{_MET}(?:\s+{_WHERE}|\W*$)"),
        ("void", r"(?:\bit|this)\s+is\s+void(?:ed)?\b"),
        ("unacceptable", r"(?:\bit|this)\s+is\s+unacceptable\b"),
        (
            "disqualif",
            r"(?:\bit|this)\s+is\s+disqualified\b",
            rf"\b(?:is|are)\s+(?:automatically\s+)?disqualifying{_HOWEVER}",
            rf"^\W*it\s+is\s+disqualifying\s+(?:to\b|{_WHERE})",
        ),
        (
            "invalidate",
            r"invalidates?\s+(?:the|an|any|this)\s+(?:whole\s+|entire\s+)?"
            rf"(?:{_REPLY}|criterion)\b(?!\s+(?:to|of|rate)\b)",
        ),
    )
)
# Not where an answer *that* explains something fails.
_TOLD = re.compile(
    r"\W*(?:(?!that\b|which\b|who\b|if\b|when\b|fail)[\w'’-]+\s+){0,5}?(?:explains?|tells?|told|says|states|knows|learns|"
    r"notes|warns|warned|understands?|sees|shows|describes|recogni[sz]es|discusses|teaches|clarifies|mentions|makes|lets|"
    r"(?:points|spells)\s+out|clear\s+that|identifies)\b"
    r"|.*,\s+(?:and|which)\s+(?:the|this)\s+\w+\s+(?:(?:is|are)\s+told|explains?|says?|knows?|learns?|sees?|shows?)\b"
)
_HINTS = ("not ", *"fail n't n’t unmet score reject zero credit void unacceptable disqualif invalidate".split())
"""What no English clause can do without."""
# German, French and Spanish, from the beginning of the sentence on: there a clause names its condition at once. Who
# did not pass an exam, an échec thérapeutique and a falla cardíaca are what an answer speaks of.
_WENN = r"\s*(?::|,?\s*(?:wenn|falls|sofern|sobald)\b)"
_SI = r"\s*(?::|,?\s*(?:si|lorsque|quand|d[èe]s\s+que|cuando)\b|,?\s*(?:s|lorsqu)['’])"
_LATIN_CLAUSE = re.compile(
    r"\W*(?:"
    r"(?:(?:(?:das|dieses)\s+kriterium|(?:die|eine|jede)\s+antwort)\s+)?"
    rf"(?:scheitert|f(?:ä|ae)llt\s+durch|(?:(?:ist|gilt)\s+(?:als\s+)?)?(?:nicht\s+(?:erf(?:ü|ue)llt|bestanden)|durchgefallen)){_WENN}"
    r"|(?:eine|jede)\s+antwort,\s+die\b.{0,300},\s*(?:scheitert|f(?:ä|ae)llt\s+durch)\W*$"
    r"|(?:(?:(?:le|ce)\s+crit[èe]re|(?:la|une|toute)\s+r[ée]ponse)\s+)?"
    rf"(?:[ée]choue|[ée]chec|(?:non|n['’]est\s+pas)\s+(?:satisfait|rempli|respect[ée]|valid[ée])e?){_SI}"
    r"|(?:une|toute)\s+r[ée]ponse\s+qui\b.{0,300}\s[ée]choue\W*$"
    r"|(?:(?:(?:el|este)\s+criterio|(?:la|una|toda)\s+respuesta)\s+)?"
    rf"(?:falla|fracasa|no\s+(?:se\s+)?cumple(?:\s+(?:con\s+)?(?:el|este)\s+criterio)?){_SI}"
    r"|(?:una|toda)\s+respuesta\s+que\b.{0,300}\s(?:falla|fracasa|no\s+cumple)\W*$"
    r")"
)
_MARKS = " *_-–—•·\"'“„«¡(["
_LATIN_STARTS = frozenset("ni sc du fä fa da di ei je gi is éc ec no n' n’ le ce la un to fr el es".split())
"""The first two letters of whatever matches that pattern."""
# Chinese: the condition opens the sentence, and the verdict ends it with nothing but judging words before it. "若…，则
# 手术失败" names what failed, and "回答说明治疗为何失败" what an answer explains: both are subject matter.
_REPLY_HAN = r"(?:回答|答案|答复|回复|回应|作答)"
_ITEM_HAN = r"(?:本(?:项|条|维度|标准|要求|准则|题)|[该此](?:项|维度|标准|准则))"
_JUDGED_HAN = rf"(?:[该此]?{_REPLY_HAN}|{_ITEM_HAN}|[则即就均都也便应须将被直接一律判视算计记评定认为作得其整个者])"
_VOID_HAN = r"(?:不予?通过|不能通过|不予?得分|一票否决|不(?:满足|符合)本(?:项|条|维度|标准|要求|准则)\w{0,2})"
_FAILED_HAN = rf"(?:{_VOID_HAN}|不合格|不达标|不及格|[零0]分|失败|无效|未通过|不(?:满足|符合|成立)(?:[该此]\w{{1,4}})?)"
_IF_HAN = r"(?:若|如果|如有|如(?=回答|答)|倘若|假如|一旦|凡|只要|除非)"
# What an answer does. Only with it are "failed", "below standard" and "0 points" said of the answer.
_ACT_HAN = (
    rf"(?:{_REPLY_HAN}|建议|推荐|提及|提到|提出|指出|说明|解释|强调|告知|告诉|给出|列出|列举|罗列|遗漏|忽略|忽视|混淆|误导|声称|断言|"
    r"主张|暗示|承诺|编造|虚构|引用|劝|鼓励)"
)
_FAILURE_HAN = re.compile(
    r"^\W*(?:"
    r"(?:失败|不通过|不合格|不得分|零分|否决)(?:(?:条件|情形|情况)\s*(?:[:：]|包括|是|为)|\s*[:：])"
    rf"|否则{_JUDGED_HAN}{{0,8}}{_FAILED_HAN}\W*$"
    rf"|(?:[但而]|此外|另外|同时|同样)?[，,]?(?:{_REPLY_HAN}中?|{_ITEM_HAN})?{_IF_HAN}"
    rf"(?:.{{0,200}}[，,则即就均都者]{_JUDGED_HAN}{{0,8}}{_VOID_HAN}"
    rf"|.{{0,100}}{_ACT_HAN}.{{0,200}}[，,则即就均都者]{_JUDGED_HAN}{{0,8}}{_FAILED_HAN})\W*$"
    rf"|(?:仅仅?|只是?|单纯|未能?|没有|任何)?{_ACT_HAN}.{{0,200}}[，,则即就均都者]{_JUDGED_HAN}{{0,8}}{_VOID_HAN}\W*$"
    r")"
    rf"|[的类何]{_REPLY_HAN}{_JUDGED_HAN}{{0,8}}{_FAILED_HAN}\W*$"
    rf"|(?:以下|下列|如下|上述)\w{{0,6}}(?:情况|情形|行为|问题|错误|之一|任一)\w{{0,3}}[，,]?{_JUDGED_HAN}{{0,8}}{_FAILED_HAN}\W*$"
)
_HAN_HINTS = ("不", "失败", "零分", "0分", "无效", "未通过", "否决")

_ITEM = re.compile(r"\W{0,2}(?:[-*•·–—]|\(?(?:\d{1,2}|[a-h])[.)、])\s*\S", re.IGNORECASE)
"""A line of a list."""
# What goes on from the clause before it. "So the parent knows …", "Even if …, she goes" and "It includes …" do not.
_MAIN_CLAUSE = r"(?!.*,\s+(?:then\s+)?(?:the|it|this|that|she|he|they|there|an?)\s)"
_FOLLOWS = re.compile(
    r"\W*(?:"
    r"(?:this|that)\s+(?:(?:also|equally|would|can|even)\s+)*includes?\b"
    r"|(?:this|that)\s+(?:also\s+|equally\s+)?(?:applies|holds)\b"
    r"|(?:this|that)\s+is\s+(?:so|true|the\s+case)\s+(?:even|also|whether|if|when|however|no\s+matter)\b"
    r"|(?:the\s+)?same\s+(?:is\s+true|holds|applies|goes|if|when|for)\b"
    r"|so\s+(?:do|does|is|are|would)\b"
    rf"|(?:likewise|similarly|equally|also|or),?\s+(?:if|when|where|unless)\b{_MAIN_CLAUSE}"
    rf"|(?:nor|neither)\s+(?:do|does|is|are|can|will)\s+(?:one|those|(?:an?\s+|any\s+)?{_REPLY})\b"
    r"|(?:nor|neither)\s+(?:does|is|can|will)\s+(?:it|this)\s+(?:pass|count|met|satisfied|acceptable)\b"
    r"|(?:dies|das)\s+gilt\s+auch\b|(?:dasselbe|gleiches)\s+gilt\b|dazu\s+gehört\b|(?:ebenso|auch),?\s+(?:wenn|falls)\b"
    r"|(?:cela|ceci)\s+(?:inclut|comprend|vaut\s+aussi)\b|il\s+en\s+va\s+de\s+même\b|de\s+même,?\s+si\b"
    r"|(?:esto|eso)\s+incluye\b|lo\s+mismo\s+(?:si|ocurre|vale|se\s+aplica)\b|también\s+si\b"
    r"|(?:这|此|其中)(?:也|还|同样)?包括|(?:这|此)?(?:同样|也)适用于|(?:以下|下列)情况亦然"
    r")",
    re.IGNORECASE,
)
# One set of signs first, as for the end of a sentence.
_BREAK = re.compile(r"[;；—–，](?:(?<=[;；])|(?<=\s[—–])(?=\s)|(?<=——)|(?<=，)(?=否则))\s*")
# An independent clause after such a break: the verdict comes first and its own condition after it. "It waits
# or gives aspirin; either fails" is one clause from its beginning.
_OWN_CLAUSE = re.compile(
    rf"\W*(?:(?:and|but|it|also|{_THIS}|(?:the|an?|any)\s+{_REPLY}|is|are|does|an?)\s+){{0,4}}"
    r"(?:fails?|failed|failure|automatic|failing|not\s+(?:met|satisfied|fulfilled|acceptable|pass|meet)|unmet|no\s+credit|"
    r"unacceptable|void|disqualified|score|reject)\b(?=.*(?::|\b(?:if|when|where|whenever|unless|by|for|that|which)\b))"
    rf"|\W*(?:(?:an?|any)\s+{_REPLY}\s+(?:that|which)|otherwise)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\W*(?:(?:if|when|unless)\b[^,]*$|若|如果|如有|倘若|一旦|凡|只要|$)", re.IGNORECASE)
"""Not a demand: a first half that waits for its verdict, or one without words."""
_OWN_CLAUSE_HAN = re.compile(rf"\W*(?:否则|{_REPLY_HAN}?(?:若|如果|如有|倘若|一旦|凡|只要))")


class Sentence(NamedTuple):
    """A sentence of a description."""

    text: str
    opens_failure: bool
    """It has failure wording itself."""
    is_failure: bool
    """It has failure wording, is listed under such a sentence or goes on from one."""
    is_rest: bool = False
    """It is the failure clause of a sentence that begins with a demand."""


@dataclass(frozen=True, slots=True)
class WithoutFailure:
    """A description without its explicit failure sentences."""

    text: str
    removed: int
    """How many sentences matched and were removed, with what was listed under them."""
    restored: bool
    """Too little would have been left, so the description is whole."""
    matched: int = field(default=0, compare=False)
    """How many sentences have failure wording, removed or not."""


def has_failure_clause(text: str) -> bool:
    """Whether a text says in explicit words what voids an answer."""
    return any(sentence.opens_failure for sentence in split_clauses(text))


def remove_failure_clauses(description: str) -> WithoutFailure:
    """Remove the sentences with explicit failure wording."""
    sentences = split_clauses(description)
    removed = sum(sentence.opens_failure for sentence in sentences)
    kept: list[str] = []
    for sentence in sentences:
        if sentence.is_rest:
            demand = kept[-1].rstrip(";；—–， \n")
            kept[-1] = demand + ("。" if "㐀" <= demand[-1] <= "鿿" else ".")
        elif not sentence.is_failure:
            kept.append(sentence.text)
    text = " ".join(kept)
    if removed and len(text) < SHORTEST_DESCRIPTION:
        return WithoutFailure(description, 0, restored=True, matched=removed)
    return WithoutFailure(text if removed else description, removed, restored=False, matched=removed)


def split_clauses(description: str) -> list[Sentence]:
    """The sentences of a description, each on one line; a failure clause is split from a demand before it.

    What is listed under "Fails if:" belongs to that clause, and so does a sentence that goes on from it.
    """
    found: list[Sentence] = []
    is_listing = False
    for piece in split_sentences(description):
        whole = _LINE_BREAK.sub(" ", piece.strip())
        if not whole:
            continue
        is_item = is_listing and bool(_ITEM.match(whole))
        demand, text = ("", whole) if is_item else _split_demand(whole)
        if demand:
            found.append(Sentence(demand, opens_failure=False, is_failure=False))
        opens = bool(demand) or _is_failure(text)
        goes_on = bool(found) and found[-1].is_failure and bool(_FOLLOWS.match(text))
        is_listing = is_item or ((opens or goes_on) and text.endswith((":", "：")))
        found.append(Sentence(text, opens, opens or goes_on or is_item, bool(demand)))
    return found


def _split_demand(sentence: str) -> tuple[str, str]:
    """The demand before a failure clause of the same sentence, and the clause; without a demand, the whole sentence."""
    if sentence.isascii() and ";" not in sentence:
        return "", sentence
    for cut in _BREAK.finditer(sentence):
        demand, clause = sentence[: cut.end()].rstrip(), sentence[cut.end() :]
        opens = _OWN_CLAUSE.match(clause) or _LATIN_CLAUSE.match(clause.lower()) or _OWN_CLAUSE_HAN.match(clause)
        if not opens or not _is_failure(clause):
            continue
        # "An answer – even a kind one – fails if …" has its subject before the dashes.
        is_aside = demand.endswith(("—", "–")) and any(dash in demand[:-1] for dash in (" — ", " – "))
        if not is_aside and not _CONDITION.match(demand) and not _is_failure(demand):
            return demand, clause
    return "", sentence


def _is_failure(sentence: str) -> bool:
    shown = sentence.lower()
    # Most sentences hold no hint; the patterns would look at each of their words to find that out.
    if any(map(shown.__contains__, _HINTS)) and (
        _OPENING.match(shown)
        or _has_wording(shown, _WORDINGS)
        or (_has_wording(shown, _UNLESS_TOLD) and not _TOLD.match(shown))
    ):
        return True
    if shown.lstrip(_MARKS)[:2] in _LATIN_STARTS and _LATIN_CLAUSE.match(shown):
        return True
    return not shown.isascii() and any(map(shown.__contains__, _HAN_HINTS)) and bool(_FAILURE_HAN.search(shown))


def _has_wording(shown: str, wordings: tuple[tuple[str, re.Pattern[str]], ...]) -> bool:
    return any(hint in shown and pattern.search(shown) for hint, pattern in wordings)
