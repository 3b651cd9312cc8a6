"""Tasks of known shape, with answers of which everything is known.

A topic has a decision (its heaviest point) and eight more points. A point has a name, and a sentence that says it with
its reason ("… because …"): who has only the name has said nothing. A topic also has a fault that costs points. From the
same topics come three shapes of checklist:

- `presence`: "Mentions drainage holes". The name is all that is asked for, so that naming buys it.
- `substance`: "Explains that drainage holes are needed because …". A name is a small part of it.
- `penalties`: the first shape, with a criterion of negative weight for the fault.

`save_small` cuts the first five topics down to four to six points: the file of somebody who has just begun.

All have dimensions written by hand, with failure clauses. The three answers to a prompt differ in what they explain,
what they only name, and whether the fault is in them; `ANSWERS` says so, point by point.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from prorubric import Criterion, Dimension, Message, ProtocolRubric, Response, Rubric, Task, save_responses, save_tasks

Shape = Literal["presence", "substance", "penalties"]

WEIGHTS = (5.0, 3.0, 3.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0)
"""Of the decision and of the points, in order."""
PENALTY = -4.0
GROUPS = ((1, 2), (3, 4), (5, 6), (7, 8, 9))
"""The dimensions, 1-based; the fault, where there is one, belongs to the first."""

_CLAUSE = "Fails if a point is only named, or if a step is recommended that nobody asked for."


@dataclass(frozen=True, slots=True)
class Point:
    """Something that an answer can name, or say with its reason."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Topic:
    """One question and what there is to say about it."""

    name: str
    question: str
    points: tuple[Point, ...]
    """The decision first."""
    fault: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an answer: 1-based places of points."""

    explains: tuple[int, ...]
    names: tuple[int, ...] = ()
    has_fault: bool = False


ANSWERS = (
    Known(explains=(1, 2, 3, 4, 7)),
    Known(explains=(1, 2, 3), names=(4, 5)),
    Known(explains=(3, 4, 5), has_fault=True),
)
"""By sample, the same for every prompt."""
SMALL = (4, 5, 6, 5, 4)
"""How many points the topics of a small file have."""
SMALL_ANSWERS = (Known(explains=(1, 2)), Known(explains=(1, 4)))

_TOPICS = """
basil: How do I keep a pot of basil alive in my kitchen? / a fixed watering schedule
  south window: is where it belongs | basil starves in the shade
  drainage holes: are needed | standing water rots its roots
  loose compost: is better than garden earth | fine roots suffocate in clay
  morning watering: is best | leaves dry before the cool night
  flower buds: have to be pinched off | they end the growth of leaves
  crowded seedlings: should be split up | they choke one another
  aphid colonies: need rinsing off | they weaken young shoots
  radiator heat: is harmful | it parches the tips
  liquid fertilizer: helps a little | small pots are exhausted quickly
bicycle: My bicycle chain keeps slipping under load, what is wrong? / a stronger spray of oil
  worn cassette: is the likely culprit | its teeth no longer hold the links
  chain gauge: settles the matter | stretch cannot be seen by eye
  derailleur hanger: may be bent | a fall pushes it inwards
  cable tension: should be checked | slack shifts late
  stiff links: can be found by hand | they jump at the rear wheel
  limit screws: are easily turned | they stop overshooting
  freehub pawls: sometimes stick | old grease hardens inside
  cross gearing: is to be avoided | extreme angles lift the rollers
  torque wrench: is useful | a loose lockring wobbles
sourdough: Why does my sourdough bread come out flat and dense? / twice the amount of yeast
  longer fermentation: is what it needs | the dough is still tight when it goes in
  starter strength: comes first | a sluggish culture raises nothing
  float test: tells you in a minute | trapped gas makes a spoonful swim
  kitchen temperature: decides the pace | cold slows every culture down
  folding rounds: build structure | gluten aligns when it is stretched
  banneton rest: keeps the shape | slack loaves spread sideways
  oven steam: is worth the trouble | a dry crust sets too early
  scoring depth: should be generous | the loaf tears elsewhere otherwise
  protein content: of the flour counts | weak flour cannot hold bubbles
router: The internet connection drops every evening, what can I do? / a second provider in parallel
  channel change: is the first thing to do | neighbours crowd the same frequency at night
  modem log: should be read | it tells line faults from radio faults
  ethernet cable: is a good test | it takes the radio out of the picture
  firmware update: may cure it | old releases leak memory
  router placement: matters | thick walls swallow the signal
  splitter filter: can be faulty | corrosion lets noise through
  repair hotline: has to know | only they can measure the street
  power supply: is a cheap suspect | ageing adapters sag under load
  guest devices: should be counted | many clients exhaust it
cat: My old cat has begun to drink a lot, should I worry? / a diet without any protein
  blood panel: is needed this week | kidneys fail silently in old animals
  urine sample: should come along | its density shows how kidneys work
  water diary: is helpful | a measured amount convinces any vet
  thyroid values: belong in the check | an overactive gland causes the same thirst
  glucose curve: may follow | diabetes hides behind a single reading
  dry kibble: makes a difference | it holds hardly any moisture
  weight loss: is a warning | it points to a wasting disease
  blood pressure: is easily forgotten | hypertension blinds old cats
  litter clumps: can be counted | they show the volume passed
lease: My landlord wants to keep the deposit for scratches on the floor, is that right? / a withheld rent payment
  written objection: is the step to take now | silence is read as consent later
  wear rule: protects you | ordinary use is paid for by the rent
  handover protocol: is the strongest proof | both sides signed what was there
  dated photographs: support you | a picture with a day is hard to deny
  repair invoice: must be shown | an estimate proves no cost
  floor age: lowers any claim | old boards have lost their value
  tenant union: offers advice | their lawyers know the local judges
  payment deadline: should be set | default starts with a date
  small claims: remain open | the court fee there is low
marathon: How do I train for my first marathon in six months? / a daily sprint session
  sunday distance: is the heart of it | endurance grows from time on your feet
  easy pace: should fill most days | hard sessions only work on fresh legs
  rest day: is not optional | tissue is rebuilt while you sleep
  mileage increase: stays below a tenth | tendons adapt more slowly than lungs
  carbohydrate gels: need practice | an unused stomach rebels
  shoe rotation: prevents trouble | foam recovers between outings
  strength training: pays off | weak hips collapse late
  taper phase: comes at the end | fatigue hides your form
  sleep hours: count double | hormones do their work at night
essay: How can I make the opening of my scholarship essay stronger? / a quotation from a dictionary
  single scene: should open it | a reader remembers what can be seen
  bold thesis: has to follow soon | a committee looks for a claim
  concrete verbs: carry more | abstract nouns blur the actor
  word budget: is tight | every line must earn its place
  personal stake: should show | motives convince more than merits
  committee values: deserve a look | each fund rewards something else
  read aloud: is a good habit | the ear catches what the eye skips
  outside reader: will help | authors cannot see their own gaps
  closing echo: links back | it gives a sense of closure
coffee: Why does my filter coffee taste bitter? / a hotter plate under the jug
  coarser grind: is the cure | fine grounds give up too much
  water temperature: should fall a little | boiling water pulls out tannins
  brewing minutes: tell a lot | more than four are harsh
  roast level: plays a part | dark beans are bitter by nature
  grinder burrs: wear out | dull edges make dust
  filter rinse: is quick | paper adds a taste of its own
  bean freshness: matters | oils turn rancid within weeks
  scale residue: should be removed | lime slows the flow
  dose ratio: is worth weighing | too little powder is stripped bare
beehive: My bees are clustering outside the hive, are they about to swarm? / a full honey harvest now
  queen cells: have to be looked for today | they alone announce a swarm
  brood space: may be short | a crowded nest drives the colony out
  entrance width: should grow | fanning needs room for air
  afternoon heat: explains much | they cool the nest by leaving it
  second super: can go on | stores crowd the laying area
  artificial split: is a way out | it takes the urge away
  clipped queen: buys days | she cannot fly far
  bait box: costs nothing | scouts take what is near
  neighbour notice: is polite | a cloud of bees frightens people
printer: My laser printer leaves grey stripes on every page, how do I fix it? / a new network card
  drum unit: should be replaced | stripes repeat at its circumference
  toner cartridge: can be shaken | an uneven fill prints unevenly
  test page: is informative | the distance of the marks names the part
  corona wire: needs wiping | dust on it leaks charge
  fuser roller: is another suspect | worn coating smears
  paper moisture: is underrated | damp sheets take up powder badly
  cleaning mode: is built in | it carries loose particles out
  mirror glass: sits deep inside | a speck on it blocks the beam
  service contract: may cover it | wear parts are often included
sleep: I lie awake for hours every night, what helps? / a strong nightcap
  fixed rising: is the anchor | the clock in us follows the morning
  bed restriction: works best | pressure builds when less time is spent there
  blue screens: should be away | their light delays the hormone of night
  late caffeine: lingers | half of it is there after six hours
  worry notebook: empties the head | what is written down can wait
  cool bedroom: helps | the body must lose warmth to drift off
  clock watching: is to be stopped | counting keeps you alert
  daytime naps: steal from the night | they use up the pressure
  doctor visit: is due after a month | apnoea cannot be felt
"""


def _parse_topics() -> tuple[Topic, ...]:
    topics: list[Topic] = []
    for block in _TOPICS.strip().split("\n"):
        head, _, rest = block.partition(": ")
        if not block.startswith(" "):
            question, _, fault = rest.partition(" / ")
            topics.append(Topic(head, question, (), fault))
            continue
        claim, _, reason = rest.partition(" | ")
        name = head.strip()
        point = Point(name, f"{name} {claim} because {reason}")
        last = topics[-1]
        topics[-1] = Topic(last.name, last.question, (*last.points, point), last.fault)
    return tuple(topics)


TOPICS = _parse_topics()


def make_tasks(shape: Shape) -> list[Task]:
    """Twelve tasks of one shape."""
    return [_make_task(topic, shape) for topic in TOPICS]


def make_responses(topics: Sequence[Topic] = TOPICS, answers: Sequence[Known] = ANSWERS) -> list[Response]:
    """Three answers to each."""
    return [
        Response(task_id=topic.name, text=_write_answer(topic, known), sample=sample)
        for topic in topics
        for sample, known in enumerate(answers)
    ]


def save_small(folder: Path, shape: Shape, answers: int) -> tuple[str, Path]:
    """Both files of five tasks with four to six points each and one or two answers."""
    topics = [replace(topic, points=topic.points[:size]) for topic, size in zip(TOPICS, SMALL, strict=False)]
    save_tasks(folder / "tasks.jsonl", [_make_task(topic, shape) for topic in topics])
    save_responses(folder / "responses.jsonl", make_responses(topics, SMALL_ANSWERS[:answers]))
    return str(folder / "tasks.jsonl"), folder / "responses.jsonl"


def save_shape(folder: Path, shape: Shape) -> tuple[str, Path]:
    """Both files of a shape: tasks and responses."""
    save_tasks(folder / "tasks.jsonl", make_tasks(shape))
    save_responses(folder / "responses.jsonl", make_responses())
    return str(folder / "tasks.jsonl"), folder / "responses.jsonl"


@lru_cache
def find_topic(conversation: str) -> Topic:
    """The topic that a conversation is about."""
    return next(topic for topic in TOPICS if topic.question in conversation)


def _make_task(topic: Topic, shape: Shape) -> Task:
    opening = {"presence": "Mentions", "penalties": "Mentions", "substance": "Explains that"}[shape]
    criteria = [
        Criterion(text=f"{opening} {point.sentence if shape == 'substance' else point.name}", weight=weight)
        for point, weight in zip(topic.points, WEIGHTS, strict=False)
    ]
    size = len(topic.points)
    groups = [list(group) for group in (GROUPS if size == len(WEIGHTS) else ((1, 2), range(3, size + 1)))]
    if shape == "penalties":
        criteria.append(Criterion(text=f"Recommends {topic.fault}", weight=PENALTY))
        groups[0].append(len(criteria))
    return Task(
        id=topic.name,
        messages=(Message(role="user", content=topic.question),),
        rubric=Rubric(criteria=tuple(criteria)),
        protocol=ProtocolRubric(dimensions=tuple(_make_dimension(topic, group, criteria) for group in groups)),
    )


def _make_dimension(topic: Topic, group: list[int], criteria: list[Criterion]) -> Dimension:
    wanted = [topic.points[index - 1].name for index in group if index <= len(topic.points)]
    points = f"{', '.join(wanted[:-1])} and {wanted[-1]}"
    spared = f" It does not recommend {topic.fault}." if max(group) > len(topic.points) else ""
    return Dimension(
        name=wanted[0].capitalize(),
        description=f"The answer explains {points}, each with its reason.{spared} {_CLAUSE}",
        indices=tuple(group),
        weight=sum(abs(criteria[index - 1].weight) for index in group),
    )


def _write_answer(topic: Topic, known: Known) -> str:
    said = [f"{_capital(topic.points[index - 1].sentence)}." for index in known.explains]
    said += [f"Think of {topic.points[index - 1].name} as well." for index in known.names]
    said += [f"I recommend {topic.fault}."] if known.has_fault else []
    return "\n\n".join([f"You asked: {topic.question}", " ".join(said[:2]), " ".join(said[2:])])


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
