"""The tables of a study that come from its audits, with the paper's figures next to ours.

Changes are of the reward × 100. The paper audited its smaller model only. What no audit has measured is `not run`.
"""

from collections.abc import Iterable

from prorubric.aggregate.bootstrap import MeanInterval
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.naming import NAME_ITEM, NAME_TOPIC
from prorubric.audit.edits.substance import ADD_SUBSTANCE, INTEGRATE_SUBSTANCE
from prorubric.audit.paper import find_paper_arm, find_paper_effect
from prorubric.audit.records import Effect
from prorubric.report.evaluation_tables import Row, Sheet
from prorubric.report.numbers import in_percent, signed
from prorubric.report.plots import Figure, ScatterMark, draw_scatter
from prorubric.report.study_results import PAIR, PAPER_ARMS, DomainResults, Made, StudyResults, lay_out
from prorubric.report.study_tables import say_state

_EVIDENCE = ("name-item", "name-topic", "needless-test", "drop-key-advice")
_COMPARED = ("additive", "raw-and", "prorubric")
_PAPER_REWARDS = (
    *("additive", "raw-and", "graded", "prorubric"),
    *("additive+appropriateness", "prorubric+appropriateness", "implicit"),
)
_THEIRS = "the paper's, each domain once"


def name_reward(scheme: str) -> str:
    """A reward by the name of the arm that is trained with it, if the paper has one."""
    return PAPER_ARMS.get(find_paper_arm(scheme), scheme)


def make_evidence(results: StudyResults) -> Made:
    """What four edits pay under three rewards before any training."""
    rows, has_paper = list[Row](), bool(results.find_small("incentive_audit"))
    names = {scheme: name_reward(scheme) for scheme in _COMPARED}
    for own, edit in ((own, edit) for own in results.ablated for edit in _EVIDENCE):
        row: dict[str, object] = {**own.place, "edit": edit}
        effects = {scheme: _find_effect(own.domain, edit, scheme) for scheme in _COMPARED}
        if not has_paper and not any(effects.values()):
            continue
        for scheme, name in names.items():
            effect = effects[scheme]
            ends = (effect.mean, effect.low, effect.high) if effect else (None, None, None)
            row |= dict(zip((name, f"{name} low", f"{name} high"), ends, strict=True))
            row[f"paper {name}"] = find_paper_effect(edit, scheme).mean if has_paper else None
        rows.append(row | {"state": say_state(*effects.values())})
    shown = {"edit": 0} | {head: 1 for name in names.values() for head in (name, f"paper {name}")}
    return Made(lay_out("evidence-b", rows, shown))


def make_incentive(results: StudyResults) -> Made:
    """What every edit pays under every reward, in every domain."""
    rows: list[Row] = []
    for name, domain in results.list_domains():
        schemes = dict.fromkeys([*_PAPER_REWARDS, *(domain.audit.schemes if domain and domain.audit else ())])
        kinds = domain.audit.kinds if domain and domain.audit else EDITS
        for edit, scheme in ((edit, scheme) for edit in kinds for scheme in schemes):
            effect, paper = _find_effect(domain, edit, scheme), _find_paper(results, name, edit, scheme)
            if effect is None and paper.mean is None:
                continue
            ours = effect.model_dump(include={"low", "high", "prompts"}) if effect else {}
            row = {"domain": name, "edit": edit, "reward": name_reward(scheme)}
            rows.append(
                {**row, "change": effect.mean if effect else None}
                | {head: ours.get(head) for head in ("low", "high", "prompts")}
                | {"paper": paper.mean, "paper low": paper.low, "paper high": paper.high}
                | {"state": say_state(effect)}
            )
    shown = {"domain": 0, "edit": 0, "reward": 0, "change": 1, "low": 1, "high": 1}
    return Made(Sheet("incentive", rows, shown | {"paper": 1, "paper low": 1, "paper high": 1}))


def make_incentive_domains(results: StudyResults) -> Made:
    """In each domain what naming pays next to substance, and what both do to the redundancy criterion."""
    printed, rows = results.find_small("incentive_audit_by_domain"), list[Row]()
    heads = (
        *("name item", "add substance", "share Rubric-RL", "share ProRubric", "unchanged"),
        *("redundancy, name", "redundancy, substance"),
    )
    for name, domain in results.list_domains():
        theirs = printed.get(name, {})
        figures = [
            *(theirs.get(key) for key in ("name_item", "add_substance")),
            *(in_percent(theirs.get(key)) for key in ("naming_share_additive", "naming_share_prorubric")),
            in_percent(theirs["unchanged_of_300"] / 300 if theirs else None),
            *(theirs.get(key) for key in ("redundancy_change_name", "redundancy_change_substance")),
        ]
        ours = _measure_domain(domain)
        if theirs or any(value is not None for value in ours):
            row = {"domain": name, **dict(zip(heads, ours, strict=True))}
            row |= {f"paper {head}": value for head, value in zip(heads, figures, strict=True)}
            rows.append(row | {"state": say_state(*ours)})
    shown = {"domain": 0} | {each: 1 for head in heads for each in (head, f"paper {head}")}
    return Made(Sheet("incentive-domains", rows, shown), _draw_domains(rows))


def _measure_domain(domain: DomainResults | None) -> list[float | None]:
    """What one row of the table by domain has of ours."""
    audit = domain.audit if domain else None
    edits = (NAME_ITEM.name, ADD_SUBSTANCE.name)
    named, added = (_find_effect(domain, edit, "additive") for edit in edits)
    shares = {share.scheme: share.value for share in audit.naming_share} if audit else {}
    fixed = {one.edit: one.change for one in audit.fixed if one.criterion == "redundancy"} if audit else {}
    return [
        *(effect.mean if effect else None for effect in (named, added)),
        *(in_percent(shares.get(scheme)) for scheme in PAIR),
        in_percent(named.unchanged if named else None),
        *(fixed.get(edit) for edit in edits),
    ]


def _draw_domains(rows: Iterable[Row]) -> Figure | None:
    marks, legend = list[ScatterMark](), dict[str, int | None]()
    for place, row in enumerate(rows):
        for name, mark, start in ((str(row["domain"]), place, ""), (_THEIRS, None, "paper ")):
            x, y = row[f"{start}name item"], row[f"{start}add substance"]
            if isinstance(x, float) and isinstance(y, float):
                marks.append(ScatterMark(mark, x, y))
                legend[name] = mark
    label = "what naming pays across, what substance pays up"
    return Figure(label, "scatter", draw_scatter(marks, signed, signed), legend) if marks else None


def make_placement(results: StudyResults) -> Made:
    """The same substance at the end of the answer and inside it."""
    printed, rows = results.find_small("placement"), list[Row]()
    for name, domain in results.list_domains():
        theirs = printed.get(name, {})
        found = {one.scheme: one for one in domain.audit.placement} if domain and domain.audit else {}
        for scheme in dict.fromkeys([*(PAIR if theirs else ()), *found]):
            gap, inside = found.get(scheme), _find_effect(domain, INTEGRATE_SUBSTANCE.name, scheme)
            difference, integrated, appended = gap.mean if gap else None, None, None
            # Both are over the answers of the difference, if no reward of an appended text is open.
            if inside and gap and inside.mean is not None and gap.mean is not None and inside.pairs == gap.pairs:
                integrated, appended = inside.mean, inside.mean - gap.mean
            paper = theirs.get(scheme, (None, None))
            rows.append(
                {"domain": name, "reward": name_reward(scheme), "appended": appended, "integrated": integrated}
                | {"difference": difference, "low": gap.low if gap else None, "high": gap.high if gap else None}
                | {"pairs": gap.pairs if gap else None, "paper appended": paper[0], "paper integrated": paper[1]}
                | {"paper pairs": theirs.get("pairs"), "state": say_state(difference)}
            )
    heads = ("appended", "integrated", "difference", "low", "high", "pairs")
    shown = {"domain": 0, "reward": 0} | {head: int(head != "pairs") for head in heads}
    return Made(Sheet("placement", rows, shown | {"paper appended": 1, "paper integrated": 1, "paper pairs": 0}))


def _find_effect(domain: DomainResults | None, edit: str, scheme: str) -> Effect | None:
    effects = domain.audit.effects if domain and domain.audit else ()
    return next((effect for effect in effects if (effect.edit, effect.scheme) == (edit, scheme)), None)


def _find_paper(results: StudyResults, domain: str, edit: str, scheme: str) -> MeanInterval:
    """What the paper has for an edit; outside medicine only for the sum."""
    printed = results.find_small("incentive_audit_by_domain")
    if not printed or edit not in EDITS:
        return MeanInterval(None)
    if domain == "medicine":
        return find_paper_effect(edit, scheme)
    if scheme != "additive":
        return MeanInterval(None)
    if domain == "writing" and edit == NAME_TOPIC.name:
        return MeanInterval(results.find_small("incentive_audit")["name_topic"]["writing_additive"])
    return MeanInterval(printed.get(domain, {}).get(EDITS[edit].paper))
