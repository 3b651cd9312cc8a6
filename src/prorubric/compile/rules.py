"""The generator `rules`: dimensions without a model, by word overlap, position and cue words. A weak baseline.

It does not understand a criterion. It puts criteria together that share words, stand close to each other in the
checklist and open with the same kind of verb; it names each group after the kind of its criteria and the words in which
the group differs from the others; and it fills a fixed sentence of that kind with those words. The text is true of any
good answer to such a question and therefore says little. It settles no contradiction and knows no priority. It exists
so that everything else runs on a fresh machine, and as what a real generator's output is compared with; whatever is
made with it has to say so (`LABEL`, and `compiler.RULES_IDENTITY` in every lineage).

How many dimensions: 2 for up to 5 criteria, 3 up to 12, 4 up to 30, 5 for more. One fewer or one more where the groups
come apart more clearly there, which is where the next merger would join groups much further apart than the last one
did; but never fewer than 2 or more than 5, nor (from 4 criteria on) more than half as many as criteria. While groups
are merged none may grow past its share (two thirds of the criteria for 2 dimensions, a third for 5), so that no
dimension swallows the checklist.

The same task gives the same text in every process. Any text can be read: languages other than English are grouped by
their words and worded around them in English. Only a rubric with a single criterion is refused.
"""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from prorubric.errors import RubricError
from prorubric.llm.lexical import is_english, stem
from prorubric.rubric.records import Criterion, Task

LABEL = "rules (word overlap and position, no model; the weak baseline)"
"""What a reader is shown wherever these dimensions appear."""

FEWEST, MOST = 2, 5
"""How many dimensions there can be."""

_BASE_COUNTS = ((5, 2), (12, 3), (30, 4))
# What makes two criteria belong together besides the words they share, which count 1 at most: the same kind of demand,
# and standing within some places of each other. No choice of these is much better than another: against the dimensions
# that were made by hand for the sample pack all give an adjusted Rand index between 0.02 and 0.13.
_SAME_KIND = 0.25
_NEIGHBOURS = 0.35
_REACH = 4.0
# How much dearer it is to merge large groups, and how much more clearly another number of groups must come apart.
_SPARE = 0.3
_START = 0.03
_DIGITS = 9

_ITEM_CHARACTERS = 200
_LONG_CHARACTERS = 500
_QUESTION_CHARACTERS = 1_200
_LEXICON_WORDS = 2**16
_LONGEST_WORD = 30
_PHRASE_WORDS = 3
_NAME_WORDS = 6
_TOPICS = 3
_QUESTION_TOPICS = 2
_NEGATIVE_TOPICS = 2
_ASKED = 1.5
_ENOUGH = 3
_QUOTED = 12
_UNQUOTABLE = frozenset(".!?。！？“”\"'’)(")

# Two words say more than one, though not twice as much.
_SHARE = tuple(1 / max(length, 1) ** 0.35 for length in range(_PHRASE_WORDS + 1))

_MISSING = ", or if it takes no account of {}"
_OCCURRING = ", or if it falls into what is to be avoided here, as with {}"

_Phrase = tuple[list[str], list[str], bool]
"""Words as they are written, their stems, and whether a sentence opens with them."""
_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Phase:
    """A kind of criterion: the words that give it away and the sentences for a group of them."""

    name: str
    cues: frozenset[str]
    text: str


_PHASES = (
    _Phase(
        "Answer",
        frozenset(
            """advise advises advice answer answers recommend recommends recommendation suggest suggests instructs
            instruct directs tells urges decision decide choose chooses option options plan treatment treat treats
            therapy dose dosage diagnosis diagnose step steps solution result conclude concludes conclusion offers
            guide guides first-line calculate calculates final verdict position prescribe start stop""".split()
        ),
        "Whoever asks about {question} comes away knowing where they stand on {topics}, and it is right for this case. "
        "The points bear on one another and lead to one position that can be acted on. "
        "Fails if that position is wrong, hedged away or contradicted further on, however much is said about "
        "{first}{negatives}.",
    ),
    _Phase(
        "Grounds",
        frozenset(
            """explain explains explaining explanation why because reason reasons reasoning rationale mechanism cause
            causes describe describes define defines definition discuss discusses evidence study studies data research
            source sources cite cites reference references compare compares distinguish differentiate background
            theory states state mentions includes lists identifies highlights outlines details factors
            classification""".split()
        ),
        "What the answer says about {topics} is true and is tied to the question about {question}, so that the reader "
        "sees why the conclusion follows. Each step carries the next, and a term that comes up is put to use. "
        "Fails if a step is wrong, unsupported or cut off from the conclusion, with {first} dropped in as a mere "
        "term{negatives}.",
    ),
    _Phase(
        "Risks",
        frozenset(
            """warn warns warning risk risks danger dangers dangerous emergency urgent urgently immediate immediately
            911 severe serious red flag flags harm harmful unsafe safe safety avoid avoids caution contraindicated
            contraindications complication complications toxicity overdose bleeding adverse allergy allergic
            interaction interactions side effects worsen worsens hospital limitation limitations limits challenge
            challenges pitfall pitfalls uncertainty uncertain disclaimer monitor monitoring precaution
            precautions""".split()
        ),
        "With {question} something can go wrong, and the answer deals with {topics} in proportion to what is at stake. "
        "The reader could tell when to change course and what to do then. "
        "Fails if a risk or a limit around {first} is missed, played down or blown up, or comes with nothing to do "
        "about it{negatives}.",
    ),
    _Phase(
        "Fit",
        frozenset(
            """ask asks asking inquire inquires seek seeks request requests clarify clarifies clarification clarifying
            context question questions history location age situation preference preferences tailor tailors tailored
            personal personalize individual specific acknowledges acknowledge awareness symptoms background audience
            circumstances local region whether""".split()
        ),
        "The answer is made for the person who asks about {question}: it works from what they have said and allows for "
        "{topics} where that would change it. What is unknown and matters is asked for or left open, and what is known "
        "is not asked again. "
        "Fails if it assumes what it cannot know about {first}, passes over what was said, or could have gone "
        "unchanged to somebody else{negatives}.",
    ),
    _Phase(
        "Form",
        frozenset(
            """format formatting formatted style tone language wording word words concise concisely brief length
            lengthy long short clear clearly readable structure structured organized organize organizes organised
            bullet bullets heading headings header headers bold table paragraph paragraphs sentence sentences grammar
            spelling repeats repetitive repetition redundant jargon terminology plain simple tense voice dialogue
            title opening ending empathy empathetic sympathy reassures polite respectful communication quality email
            letter line lines writes written character characters scene reads verbose buries layout markdown list
            numbered""".split()
        ),
        "The person who asks about {question} can take the answer in at the first reading, and in matters of {topics} "
        "its form serves what it says. Length, order and tone suit the request, with what matters most easy to find. "
        "Fails if the form gets in the way over {first}, buries what matters or pads it{negatives}.",
    ),
)
_PHASE_OF = {cue: number for number, phase in reversed(list(enumerate(_PHASES))) for cue in phase.cues}

# Words that can stand in no phrase: function words, what rubrics say of any answer, and verbs that tear nouns apart.
_STOP = frozenset(
    """a about above across after again against ago all allow allows almost along already also although always am
    among amount an and another any anyone anything are aren't around as at away back bad be became because become
    becomes been before began being below besides best better between beyond both bring but by came can can't cannot
    come comes consider considered considering could couldn't current currently day days depending despite did didn't
    different do does doesn't doing don't done down due during each easily either else enough ensure ensures
    especially etc even ever every everyone everything explicit far feel feeling feels felt few find first fully for
    from further furthermore gave generally get gets getting give given gives giving go goes going good got great had
    has hasn't have haven't having he help helpful helping helps hence her here hers herself hi hello hey him himself
    his how however i i'd i'll i'm i've if in indeed inside instead into is isn't it it's its itself just keep keeps
    kind know known knows later least less let let's like likely little long look looking lot made main mainly make
    makes making many may maybe me mean means might more moreover most mostly much must my myself near necessary need
    needed needs neither never new next no non none nor not nothing now of off often ok okay old on once one ones only
    onto or other others otherwise our ours out over overall own particular particularly per perhaps please possible
    possibly potential potentially prior probably properly put puts quite rather really recent recently regarding
    related relevant right said same saw say says saying see seem seems seen several shall she should shouldn't show
    shown shows since so some somebody someone something sometimes soon still such suitable sure take taken takes
    taking tell than thank thanks that that's the their theirs them themselves then there therefore these they they're
    thing things think this those though through throughout thus to today together told too took toward towards tried
    try trying two three four five under unless until up upon us use used useful user user's users uses using usually
    various vary varies very via void voided voids want wanted wants was wasn't way we well went were weren't what
    whatever what's when where whereas whether which whichever while who whole whom whose why will with within without
    won't would wouldn't yes yet you you're your yours yourself e.g i.e vs eg ie pm accurate accurately acknowledge
    acknowledges acknowledging acknowledgement address addressed addresses addressing adequate adequately adheres
    advise advised advises advising answer answered answering answers appropriate appropriately assistant assume
    assumes attempt attempts avoid avoids avoiding briefly chat chatbot cite cites claim claims clarifies clarify
    clarifying clear clearly complete completely concise concisely contain contains containing correct correctly
    criterion criteria demonstrate demonstrates describe described describes describing detail detailed details
    determine directly discuss discussed discusses discussing emphasize emphasizes emphasizing encourage encourages
    example examples explain explained explaining explains explanation explicitly express expresses fact fail failed
    fails failing failure follow following follows form highlight highlights highlighting identified identifies
    identify implies imply inaccurate include included includes including incorrect incorrectly indicate indicates
    indicating inform information informs inappropriate inappropriately inquire inquires instruct instructs item lack
    lacks list listed listing lists mention mentioned mentioning mentions met model name named names naming neglects
    note notes noting offer offered offering offers omit omits outline outlines part parts person point points present
    presented presents propose proposes prompt provide provided provides providing query question questions ask asked
    asking asks recognize recognizes recommend recommended recommending recommends refer refers referring reflect
    reflects remind reminds report reports respond responding responds response responses reply seek seeking seeks
    specific specifically specified specifies specify start starts state stated statement states stating step strong
    strongly suggest suggested suggesting suggests summarize summarizes support supports talk talks tells text topic
    topics understand urges warn warns warning worded write writes written judge completion conversation conversing
    based allowing requires required require increase increases increased cause caused causes causing lead leads
    leading occur occurs result results resulting remain remains reduce reduces reducing reduced improve improves
    prevent prevents contribute contributes affect affects associated experience experiencing indicated happen happens
    decide whatsoever extremely significantly additionally factually justification unlike multiple unnecessarily
    needlessly important importance essential able unable available common commonly typical typically normal normally
    general simple simply single certain additional extra high higher highest low lower lowest large larger small
    smaller early late brief short longer shorter proper sufficient major minor real true false wrong case cases
    meet meets type types issue issues year years week weeks month months hour hours last align aligns begin begins
    beginning apply applies""".split()
)
# Function words of Spanish, German, French, Portuguese and Russian. In English "die", "hay" and "son" say something.
_STOP_ELSEWHERE = frozenset(
    """que los las del una uno por con para como más pero sus este esta son muy también hay está puede tiene sin sobre
    qué der die das und ist nicht ein eine mit auf für von dem den des sich auch wie ich sie wir bei oder nach wenn
    kann les une est pour dans qui sur pas avec vous mon mes par ont aux mais cette être nous suis ai je il elle não
    uma dos com são mas seu sua meu minha você isso ele ela tem foi quando isto eu ou ao что это как так для или при
    мне меня если есть все уже его она они был быть может чтобы en la el se te lo un de mi al su ya si tras desde
    hace du le au à na em da os nas nos ta faz uns umas zu im um es hat bin mir mich не на по от из за но да ли мой
    моя мы вы он""".split()
)
# Chinese and Japanese: two signs at a time; kana and the signs of grammar stand between words like English "of the".
_SIGNS = r"\u30a1-\u30fa\u30fc\u3400-\u9fff\uf900-\ufaff"
_GRAMMAR = "的了是在我有和就不都也很吗呢吧啊这那你他她它们个一为与及或等到从对把被会能要可上下中请什么怎以之其"
_BETWEEN = (
    r"\x00-\x20!-,./:-@\[-`{-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2000-\u200b\u200e-\u2018\u201a-\u206f\u3000-\u30a0\u30fb\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\ufeff\-"
)
_TOKEN = re.compile(
    rf"[^{_BETWEEN}{_SIGNS}]+(?:[-'’][^{_BETWEEN}{_SIGNS}]+|[.,]\d+)*|(?:(?![{_GRAMMAR}])[{_SIGNS}]){{1,2}}|[^ ]"
)
_SIGN = re.compile(f"[{_SIGNS}]")
_OMISSION = re.compile(
    r"\W*(?:(?:the\s+)?(?:response|answer|reply|model|it)\s+)?(?:fails?\b|failure\b|does\s*n[o'’]t\b|neglects?\b|omits?\b"
    r"|lacks?\b|ignores?\b|overlooks?\b|forgets?\b|misses\b|leaves\s+out\b)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+")
_ADVERB = re.compile(r"(?!famil|anomal|assembl|suppl|butterfl)[a-z]{3,}ly")
_LETTERS = re.compile(r"[^\W\d_]{3}|[^\x00-\x7f]")
_ASIDE = "(Justification"
_FIRST_WORDS = 6
_FIRST_VOTES = 3
_TAG_VOTES = 2
_OPENERS = frozenset(".!?:\n")


@dataclass(slots=True)
class _Text:
    """What is read off one text."""

    stems: dict[str, None]
    """The content words, each once, in order; a set would have another order in every process."""
    phrases: list[_Phrase]
    votes: list[int]
    """How much speaks for each phase."""


@dataclass(slots=True)
class _Item:
    """One criterion."""

    text: _Text
    phase: int | None
    weight: float
    omission: bool
    """A negative criterion that describes what is missing, so that its words say what an answer needs."""
    long: bool
    """So long that it instructs a judge; its words say how to judge and not what about."""


class _Lexicon(dict[str, tuple[str, int | None]]):
    """What is known of each word: its stem ('' where it is no content word) and the phase that it speaks for."""

    def __init__(self, stop: frozenset[str]) -> None:
        self._stop = stop

    def __missing__(self, token: str) -> tuple[str, int | None]:
        if len(self) >= _LEXICON_WORDS:
            self.clear()
        found = self[token] = _read_token(token, self._stop)
        return found


def draft_by_rules(task: Task) -> list[dict[str, Any]]:
    """Dimensions for a task, as mappings that `ProtocolRubric.of` takes, in the order of their first criterion."""
    if len(task.rubric) < FEWEST:
        raise RubricError(
            f"task {task.id!r}: the rubric has 1 criterion, which cannot be grouped; rules needs at least {FEWEST}"
        )
    lexicon = _english if is_english("\n".join(criterion.text for criterion in task.rubric.criteria)) else _elsewhere
    items = [_read_criterion(criterion, lexicon) for criterion in task.rubric.criteria]
    return list(_compose(items, _group(items), task, lexicon))


# --- reading


def _read_token(token: str, stop: frozenset[str]) -> tuple[str, int | None]:
    word = token.lower().replace("’", "'").removesuffix("'s")
    phase = _PHASE_OF.get(word)
    if _SIGN.match(token):
        return ("" if token in _GRAMMAR else token), phase
    empty = len(word) < 2 or word in stop or _ADVERB.fullmatch(word)
    return ("" if empty or not _is_word(word) else stem(word)), phase


def _is_word(word: str) -> bool:
    return word.isprintable() and any(map(str.isalnum, word))


_english, _elsewhere = _Lexicon(_STOP), _Lexicon(_STOP | _STOP_ELSEWHERE)


@lru_cache(maxsize=2**10)
def _read_tag(tag: str) -> tuple[int, ...]:
    """The phases that a tag such as `axis:communication_quality` speaks for."""
    words = _WORDS.findall(tag.lower().replace("_", " "))
    return tuple(_PHASE_OF[word] for word in words if word in _PHASE_OF)


def _read_text(text: str, characters: int, lexicon: _Lexicon) -> _Text:
    stems: list[str] = []
    phrases: list[_Phrase] = []
    votes = [0] * len(_PHASES)
    words: list[str] = []
    before = "."
    # The point at the end closes the last phrase.
    for place, token in enumerate([*_TOKEN.findall(_cut(text, characters)), "."]):
        found, phase = lexicon[token]
        if phase is not None:
            # The main verb comes first and says what kind of demand it is.
            votes[phase] += _FIRST_VOTES if place < _FIRST_WORDS else 1
        if found:
            words.append(token)
            stems.append(found)
            continue
        if words:
            # The end of a run of content words is in English the noun that the rest is about.
            length = min(len(words), _PHRASE_WORDS)
            phrases.append((words[-length:], stems[-length:], before in _OPENERS and length == len(words)))
            words = []
        before = token
    return _Text(dict.fromkeys(stems), phrases, votes)


def _cut(text: str, characters: int) -> str:
    """The opening of a text, without a word that is cut in two."""
    return text if len(text) <= characters else text[: characters + 1].rpartition(" ")[0] or text[:characters]


def _read_criterion(criterion: Criterion, lexicon: _Lexicon) -> _Item:
    demand = criterion.text.split(_ASIDE, 1)[0]
    text = _read_text(demand or criterion.text, _ITEM_CHARACTERS, lexicon)
    for tag in criterion.tags:
        for phase in _read_tag(tag):
            text.votes[phase] += _TAG_VOTES
    strongest = max(text.votes)
    return _Item(
        text=text,
        phase=text.votes.index(strongest) if strongest else None,
        weight=criterion.weight,
        omission=criterion.weight < 0 and bool(_OMISSION.match(criterion.text)),
        long=len(demand) > _LONG_CHARACTERS,
    )


def _find_question(task: Task) -> str:
    """What the user said, the last of it first; where no user says anything, what was said at all."""
    said = [message.content for message in reversed(task.messages) if message.role == "user"]
    return "\n".join(said) if any(map(str.strip, said)) else "\n".join(message.content for message in task.messages)


# --- grouping


def _group(items: Sequence[_Item]) -> list[list[int]]:
    """0-based positions by group: merged from single criteria, the number chosen by the rule in the module's text."""
    count = len(items)
    base = next((groups for most, groups in _BASE_COUNTS if count <= most), MOST)
    highest = min(base + 1, MOST, max(count // 2, FEWEST))
    lowest = min(max(base - 1, FEWEST), highest)
    stages = _merge(1.0 - _similarities(items), lowest, highest, base)
    chosen = max(stages, key=lambda stage: _rank(stage, base))
    return sorted(sorted(group) for group in chosen.groups)


@dataclass(frozen=True, slots=True)
class _Stage:
    """A partition on the way from many groups to few."""

    groups: list[list[int]]
    made_at: float
    """How far apart the two groups were whose merger made it."""
    left_at: float
    """How far apart the two are whose merger would come next."""


def _rank(stage: _Stage, base: int) -> tuple[int, float]:
    """The fewest groups of one first, then how clearly the groups come apart; the usual number has a start."""
    singles = sum(len(group) == 1 for group in stage.groups)
    start = _START if len(stage.groups) == base else 0.0
    return -singles, round(stage.left_at - stage.made_at + start, _DIGITS)


def _similarities(items: Sequence[_Item]) -> _Matrix:
    """Shared words (cosine, rare words count more), the same phase, and nearness in the list; at most 1."""
    count = len(items)
    columns: dict[str, int] = {}
    rows, cells = [], []
    for row, item in enumerate(items):
        for word in item.text.stems:
            rows.append(row)
            cells.append(columns.setdefault(word, len(columns)))
    words = np.zeros((count, len(columns) + 1))
    words[rows, cells] = 1.0
    words *= np.log((1.0 + count) / (1.0 + words.sum(axis=0)))
    words /= np.sqrt((words * words).sum(axis=1, keepdims=True)) + 1e-12
    phases = np.array([-1 - row if item.phase is None else item.phase for row, item in enumerate(items)])
    similar = words @ words.T + _SAME_KIND * np.equal.outer(phases, phases) + _nearness(count)
    # Libraries differ in the last bits of a product; a tie must not be broken by them.
    rounded: _Matrix = np.round(similar / (1.0 + _SAME_KIND + _NEIGHBOURS), _DIGITS)
    return rounded


@lru_cache(maxsize=2**7)
def _nearness(count: int) -> _Matrix:
    places = np.arange(count)
    near: _Matrix = _NEIGHBOURS * np.exp(-np.abs(np.subtract.outer(places, places)) / _REACH)
    return near


def _merge(apart: _Matrix, lowest: int, highest: int, base: int) -> list[_Stage]:
    """Merge the two groups that are cheapest to merge until `lowest` are left; the stages from `highest` on."""
    count, cap = len(apart), 0
    groups = {position: [position] for position in range(count)}
    # Between groups: the distances of their members, added up. What is gone is infinitely far away.
    sums, sizes = apart.copy(), np.ones(count, dtype=np.intp)
    np.fill_diagonal(sums, np.inf)
    factors = costs = sums
    partitions, distances = [], [0.0]
    while True:
        if len(groups) <= highest:
            partitions.append([list(group) for group in groups.values()])
        if len(groups) == lowest:
            break
        # The two smallest groups never hold more than this together, so that there is always something to merge.
        allowed = 2 * count // min(len(groups), base + 1)
        if allowed != cap:
            cap, factors = allowed, _cost_factors(count, allowed)
            costs = sums * factors[sizes[:, None], sizes]
        keep, drop = divmod(int(costs.argmin()), count)
        distances.append(float(sums[keep, drop] / (sizes[keep] * sizes[drop])))
        groups[keep] += groups.pop(drop)
        sums[keep] += sums[drop]
        sums[:, keep] = sums[keep]
        sums[drop] = sums[:, drop] = costs[drop] = costs[:, drop] = np.inf
        sizes[keep] += sizes[drop]
        costs[keep] = costs[:, keep] = sums[keep] * factors[sizes[keep], sizes]
    distances.append(float((sums / np.multiply.outer(sizes, sizes)).min()))
    ends = distances[-len(partitions) - 1 :]
    return [_Stage(groups, made, left) for groups, (made, left) in zip(partitions, pairwise(ends), strict=True)]


@lru_cache(maxsize=2**7)
def _cost_factors(count: int, cap: int) -> _Matrix:
    """What turns the summed distances of two groups into the cost of merging them, by their sizes.

    It is the mean distance, higher for large groups so that few criteria stay alone, and infinite past the cap.
    """
    sizes = np.arange(count + 1, dtype=np.float64)
    sizes[0] = np.nan
    products, totals = np.multiply.outer(sizes, sizes), np.add.outer(sizes, sizes)
    factors: _Matrix = np.where(totals <= cap, (products / totals) ** _SPARE / products, np.inf)
    return factors


# --- wording


def _compose(
    items: Sequence[_Item], groups: Sequence[Sequence[int]], task: Task, lexicon: _Lexicon
) -> Iterator[dict[str, Any]]:
    asked = _find_question(task)
    question = _read_text(asked, _QUESTION_CHARACTERS, lexicon if is_english(asked) else _elsewhere)
    everywhere = Counter([word for item in items for word in item.text.stems])
    known = {word: 1.0 + min(everywhere[word], _ENOUGH) for word in question.stems}
    subjects = _choose(question.phrases, known, _QUESTION_TOPICS)
    subject = _render_phrases(subjects) or _quote(asked, "this request")
    names: set[str] = set()
    for group in groups:
        members = [items[position] for position in group]
        weights = _weigh_words(members, everywhere, question.stems)
        topics = _choose(_list_phrases(_find_wanted(members)), weights, _TOPICS)
        topics = topics or _choose(_list_phrases(members), weights, _TOPICS)
        shown = [_render_phrase(phrase) for phrase in topics]
        if not shown:
            shown = [_quote(task.rubric.criteria[group[0]].text, "what is asked for here")]
        phase = _PHASES[_find_phase(members)]
        name = _make_name(phase, shown, names)
        names.add(name)
        yield {
            "name": name,
            "description": phase.text.format(
                question=subject,
                topics=_join_words(shown),
                first=shown[0],
                negatives=_render_negatives(members, weights, {word for _, stems, _ in topics for word in stems}),
            ),
            "indices": [position + 1 for position in group],
        }


def _weigh_words(members: Sequence[_Item], everywhere: Counter[str], asked: Container[str]) -> dict[str, float]:
    """How much each word says of a group: used by many of its criteria, by few others, and in the question as well."""
    inside = Counter([word for item in members for word in item.text.stems])
    return {
        word: count * count / everywhere[word] * (_ASKED if word in asked else 1.0) for word, count in inside.items()
    }


def _find_wanted(members: Sequence[_Item]) -> Sequence[_Item]:
    """The criteria that say what an answer needs; where all describe what it must not do, those."""
    told = [item for item in members if not item.long] or members
    wanted = [item for item in told if item.weight > 0]
    return wanted or [item for item in told if item.omission] or told


def _list_phrases(items: Iterable[_Item]) -> list[_Phrase]:
    return [phrase for item in items for phrase in item.text.phrases]


def _choose(
    phrases: Sequence[_Phrase], weights: Mapping[str, float], most: int, taken: Iterable[str] = ()
) -> list[_Phrase]:
    """The phrases that say most, best first, none of which shares a word with another; of equals the earlier."""
    scores = [sum([weights[word] for word in stems]) * _SHARE[len(stems)] for _, stems, _ in phrases]
    used, chosen = set(taken), []
    for place in sorted(range(len(phrases)), key=scores.__getitem__, reverse=True):
        words, stems, _ = phrases[place]
        if used.isdisjoint(stems) and _is_readable(words):
            used.update(stems)
            chosen.append(phrases[place])
            if len(chosen) == most:
                break
    return chosen


def _is_readable(words: Sequence[str]) -> bool:
    """A number alone is no topic, and neither is an address or a hash."""
    return max(map(len, words)) <= _LONGEST_WORD and any(map(_LETTERS.search, words))


def _render_phrase(phrase: _Phrase) -> str:
    """Words with spaces between them; Chinese and Japanese signs without. A capital of the sentence is not kept."""
    words, _, opens = phrase
    text = words[0].lower() if opens and words[0][1:].islower() else words[0]
    for word in words[1:]:
        text += word if _SIGN.match(word) and _SIGN.match(text[-1]) else f" {word}"
    return text


def _render_phrases(phrases: Iterable[_Phrase]) -> str:
    return _join_words([_render_phrase(phrase) for phrase in phrases])


def _join_words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)


def _quote(text: str, fallback: str) -> str:
    """Something to show of a text without content words: its signs, if it has no words at all."""
    signs = [sign for sign in text[:_QUESTION_CHARACTERS] if sign.isprintable() and sign not in _UNQUOTABLE]
    shown = "".join(signs).strip()[:_QUOTED].rstrip()
    return f"“{shown}”" if shown and not any(map(str.isalpha, signs)) else fallback


def _find_phase(members: Sequence[_Item]) -> int:
    votes = [sum(column) for column in zip(*[item.text.votes for item in members], strict=True)]
    return votes.index(max(votes))


def _make_name(phase: _Phase, topics: Sequence[str], taken: Container[str]) -> str:
    """The phase and a topic in at most six words; another name than the other groups have."""
    for topic in topics:
        name = f"{phase.name}: {topic}"
        if name not in taken and len(_WORDS.findall(name)) <= _NAME_WORDS:
            return name
    numbered = (f"{phase.name}: part {number}" for number in range(1, MOST + 1))
    return next(name for name in numbered if name not in taken)


def _render_negatives(members: Sequence[_Item], weights: Mapping[str, float], taken: set[str]) -> str:
    """What the negative criteria add to the failure clause: what must not be missing, and what must not occur."""
    missing = [item for item in members if item.omission]
    occurring = [item for item in members if item.weight < 0 and not item.omission]
    text = ""
    for items, wording in ((missing, _MISSING), (occurring, _OCCURRING)):
        phrases = _list_phrases(items)
        # What the group is about is named once, unless there is nothing else to name.
        chosen = phrases and (_choose(phrases, weights, _NEGATIVE_TOPICS, taken) or _choose(phrases, weights, 1))
        text += wording.format(_render_phrases(chosen)) if chosen else ""
        taken = taken.union(*[stems for _, stems, _ in chosen])
    return text
