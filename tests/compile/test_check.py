"""What keeps a draft from being used, and what is wrong with texts: realistic ones of both kinds.

A false alarm costs a call and spoils a good draft; a miss costs nothing that was not lost before. So for every check
there are more texts that must pass than texts that must not, and whole collections that must pass untouched.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, Task, load_samples, load_tasks
from prorubric.compile.check import (
    TEXT_CHECKS,
    TextCheck,
    find_exclusion,
    find_faults,
    find_text_faults,
    list_words,
)
from prorubric.compile.clauses import has_failure_clause
from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.compile.rules import draft_by_rules
from prorubric.compile.sentences import split_sentences


def make_draft(*groups: Sequence[int], unreadable: tuple[str, ...] = ()) -> Draft:
    return Draft(
        tuple(
            DraftDimension(f"Part {k}", f"Text {k}.", tuple(group), unreadable=unreadable if k == 1 else ())
            for k, group in enumerate(groups, 1)
        )
    )


class TestStructure:
    @pytest.mark.parametrize(
        ("groups", "n"),
        [
            (([1, 2], [3, 4, 5]), 5),
            (([5, 1], [4], [2, 3]), 5),
            (([1], [2]), 2),
            (([1], [2], [3], [4], [5, 6]), 6),
        ],
    )
    def test_a_partition_into_two_to_five_has_no_fault(self, groups: tuple[list[int], ...], n: int) -> None:
        assert find_faults(make_draft(*groups), n) == []
        assert find_exclusion(make_draft(*groups), n) is None

    @pytest.mark.parametrize(
        ("groups", "n", "faults"),
        [
            (([1, 2], [4]), 4, [Fault("left out", "Item 3 is in no criterion; each belongs to one.")]),
            (([1, 2], [2, 3]), 3, [Fault("twice", "Item 2 is used more than once; each belongs to one criterion.")]),
            (([1, 1], [2, 3]), 3, [Fault("twice", "Item 1 is used more than once; each belongs to one criterion.")]),
            (
                ([1, 2], [3, 8, -1]),
                3,
                [Fault("out of range", "There is no item -1, 8; the items are numbered from 1 to 3.")],
            ),
            (
                ([0, 1, 2], [3]),
                3,
                [Fault("out of range", "There is no item 0; the items are numbered from 1 to 3.")],
            ),
            (([0, 1], [2]), 3, [Fault("from zero", "The indices count from 0; the items are numbered from 1 to 3.")]),
            (([0], [2]), 4, [Fault("from zero", "The indices count from 0; the items are numbered from 1 to 4.")]),
            (([1, 2], [3], []), 3, [Fault("no items", "Criterion 3 has no items.")]),
            (([1, 2, 3],), 3, [Fault("too few", "There is only one criterion; write 2 to 3.")]),
            (
                (),
                9,
                [
                    Fault("too few", "There are no criteria; write 2 to 5."),
                    Fault(
                        "left out", "Item 1, 2, 3, 4, 5, 6, 7, 8 and 1 more is in no criterion; each belongs to one."
                    ),
                ],
            ),
            (
                ([1], [2], [3], [4], [5], [6]),
                6,
                [Fault("too many", "There are 6 criteria; write 2 to 5.")],
            ),
            (
                ([1, 9], [2, 1]),
                3,
                [
                    Fault("out of range", "There is no item 9; the items are numbered from 1 to 3."),
                    Fault("twice", "Item 1 is used more than once; each belongs to one criterion."),
                    Fault("left out", "Item 3 is in no criterion; each belongs to one."),
                ],
            ),
        ],
    )
    def test_each_fault_is_told_in_words(self, groups: tuple[list[int], ...], n: int, faults: list[Fault]) -> None:
        assert find_faults(make_draft(*groups), n) == faults

    def test_an_assignment_that_is_no_number_is_told(self) -> None:
        assert find_faults(make_draft([1], [2], unreadable=("'both'",)), 2) == [
            Fault("no index", "Criterion 1: 'both' is no index.")
        ]

    def test_fields_that_say_nothing_are_told(self) -> None:
        draft = Draft((DraftDimension("", "Text.", (1,)), DraftDimension("Part", "\u200b", (2,))))
        assert find_faults(draft, 2) == [
            Fault("no name", "Criterion 1 has no name."),
            Fault("no description", "Criterion 2 has no description."),
        ]

    @pytest.mark.parametrize(
        ("draft", "reason"),
        [
            (make_draft([1], [2], []), "a dimension without criteria"),
            (make_draft([1, 2]), "fewer than two dimensions"),
            (make_draft(), "fewer than two dimensions"),
            (make_draft([1], [2], [3], [4], [5], [6]), "more than five dimensions"),
            (Draft((DraftDimension(" ", "x", (1,)), DraftDimension("b", "x", (2,)))), "a dimension without a name"),
            (
                Draft((DraftDimension("a", "", (1,)), DraftDimension("b", "", (2,)))),
                "a dimension without a description",
            ),
        ],
    )
    def test_what_no_repair_can_mend_is_the_reason_to_exclude(self, draft: Draft, reason: str) -> None:
        n = max((index for dimension in draft.dimensions for index in dimension.indices), default=2)
        assert find_exclusion(draft, n) == reason


ITEMS = (
    "Advises taking the six-week-old to an emergency department tonight because of the rectal temperature of 38.6",
    "Explains that at this age a serious infection may show no other sign than fever",
    "Recommends giving paracetamol and waiting until the morning to see whether the fever goes down by itself",
    "States for which signs on the way an ambulance must be called at once",
)
TASK = Task(
    id="fever",
    messages=(Message(role="user", content="My baby is six weeks old, sleepy, and has 38.6. Can it wait?"),),
    rubric=Rubric(criteria=tuple(Criterion(text=text, weight=w) for text, w in zip(ITEMS, (9, 5, -4, 3), strict=True))),
)
GOOD = (
    "The parent knows after the first lines that the baby is taken in tonight, and that neither sleep nor a lower "
    "reading changes this. What is said about fever at six weeks carries the decision. "
    "Fails if going is made to depend on the morning, on a dose or on further signs."
)


def alarms(text: str, name: str = "Take her in tonight", task: Task = TASK) -> list[str]:
    """The checks that a description does not pass."""
    draft = Draft((DraftDimension(name, text, (1, 2, 3, 4)),))
    return [fault.kind for fault in find_text_faults(draft, task)]


def test_a_good_text_passes() -> None:
    assert alarms(GOOD) == []


def test_every_alarm_says_what_to_do() -> None:
    draft = Draft(
        (
            DraftDimension("A", GOOD, (1,)),
            DraftDimension("a name that goes on and on", f"{ITEMS[0]}. {ITEMS[1]}.", (1, 2)),
            DraftDimension("C", "Is good.", (3,)),
            DraftDimension("D", "Mentions fever at six weeks. Mentions an ambulance. Fails if not.", (4,)),
        )
    )
    assert find_text_faults(draft, TASK) == [
        Fault("name", "Criterion 2: the name has 7 words; use at most 6."),
        Fault(
            "clause",
            'Criterion 2: the description does not say what makes an answer fail; end with a sentence "Fails if …".',
        ),
        Fault(
            "quotes",
            "Criterion 2: the description repeats items word for word; say in other words what they demand together.",
        ),
        Fault(
            "clause",
            'Criterion 3: the description does not say what makes an answer fail; end with a sentence "Fails if …".',
        ),
        Fault("sentences", "Criterion 3: the description has 1 sentence(s); write 2 to 5."),
        Fault("generic", "Criterion 3: the description would fit any question; say what it means for this one."),
        Fault(
            "mentions",
            "Criterion 4: the description is a list of things to mention; say what a good answer achieves.",
        ),
    ]


@pytest.mark.parametrize("check", TEXT_CHECKS)
def test_only_the_checks_that_are_wanted_are_made(check: TextCheck) -> None:
    bad = "- fever at six weeks\n- ambulance"
    draft = Draft(
        (
            DraftDimension("a name that goes on and on", bad, (1,)),
            DraftDimension("B", f"{ITEMS[0]}. {ITEMS[1]}.", (1, 2)),
        )
    )
    every = {fault.kind for fault in find_text_faults(draft, TASK)}
    assert {"clause", "name", "mentions", "quotes"} <= every
    assert {fault.kind for fault in find_text_faults(draft, TASK, (check,))} == every & {check}
    assert find_text_faults(draft, TASK, ()) == []


def test_a_description_that_is_missing_is_no_matter_of_its_text() -> None:
    assert alarms(" ") == []


class TestName:
    @pytest.mark.parametrize(
        "name",
        [
            "Safe",
            "One two three four five six",
            "Safety – tonight & on the way",
            "Follow-up, dose and red-flag advice",
            "Urgent: act now / no delay",
            "今晚就去急诊并说明原因以及路上的注意事项",
        ],
    )
    def test_six_words_are_enough(self, name: str) -> None:
        assert alarms(GOOD, name) == []

    def test_seven_are_too_many(self) -> None:
        assert alarms(GOOD, "One two three four five six seven") == ["name"]


CLAUSES = """Fails if it waits.
fails if it waits.
**Fails if** it waits.
Fails when the dose is wrong.
Fails unless the dose is given.
Fails for any answer that delays care.
Fails, however good the rest, if it waits.
Fails: delays care or plays it down.
Fail if the reply plays the risk down.
It fails if the dose is missing.
It also fails when the dose is missing.
The answer fails if it recommends antibiotics.
The answer would fail if it hedged.
The response fails this criterion when it omits the warning.
An answer that recommends waiting fails.
Responses that delay care fail.
An answer that waits does not count.
A reply that hedges cannot pass.
Waiting until morning fails the criterion.
The email fails when it blames the potter.
This criterion is not met if it waits.
Not met if it waits.
The criterion is not satisfied when the answer hedges.
An answer that hedges does not meet this criterion.
This criterion is failed if the response is vague.
It is a failure if the dose is missing.
It counts as a failure to suggest aspirin.
The answer must be marked as failing if it omits the dose.
Failure occurs if the answer delays care.
Failure: the answer tells her to wait.
Suggesting aspirin voids this.
Suggesting aspirin voids the whole answer.
Suggesting aspirin disqualifies the answer.
An answer is disqualified if it suggests aspirin.
The answer is unacceptable if it suggests aspirin.
No credit if it waits.
An answer that only lists them earns no credit.
Unmet if it waits.
Recommending a wait is disqualifying.
Any advice to wait is disqualifying, however kind the rest.
Suggesting aspirin invalidates the answer.
A wrong dose invalidates the whole response.
Score zero if it waits.
Score 0 if the reply suggests aspirin.
The answer scores zero if it waits.
An answer that only lists causes scores 0.
It does not pass if it waits.
This cannot pass unless the dose is named.
Automatic fail: it tells her to wait.
Automatic failure if aspirin is suggested.
Telling her to wait is an automatic fail.
An answer that tells her to wait is an automatic fail.
Failing answers wait or play the risk down.
A failing answer waits.
A failing reply names the signs and leaves the decision open.
Does not meet the bar if it waits.
It does not meet the bar when the dose is missing.
A response that hedges does not meet the bar.
Reject any answer that suggests aspirin.
Reject responses that invent sources.
An answer suggesting aspirin does not pass.
An answer that waits does not pass, however kind it is.
Reject an answer if it waits.
Not acceptable if it waits.
An answer that waits is not acceptable.
Such an answer is not acceptable.
Any reply that leaves the choice open is rejected.
If it waits, this criterion is not met.
If it waits, the criterion is not met.
Nicht erfüllt, wenn zum Abwarten geraten wird.
Das Kriterium ist nicht erfüllt, wenn die Antwort abwartet.
Gilt als nicht bestanden, falls Aspirin empfohlen wird.
Scheitert, wenn die Antwort zum Abwarten rät.
Die Antwort scheitert, sobald sie Aspirin empfiehlt.
Durchgefallen, falls Aspirin empfohlen wird.
Nicht bestanden, wenn die Dosis fehlt.
Fällt durch, wenn die Entscheidung offen bleibt.
Eine Antwort, die abwartet, fällt durch.
Nicht erfüllt: die Antwort wartet ab.
Échoue si la réponse conseille d'attendre.
La réponse échoue lorsqu'elle conseille d'attendre.
Échec si l'aspirine est conseillée.
Echec : la réponse attend.
Non satisfait si la dose manque.
Non rempli si la décision reste ouverte.
Le critère n'est pas rempli si la réponse attend.
Toute réponse qui conseille d'attendre échoue.
Falla si aconseja esperar.
**Falla si** aconseja esperar.
La respuesta falla cuando aconseja esperar.
Fracasa si recomienda aspirina.
No cumple si falta la dosis.
No se cumple si la decisión queda abierta.
El criterio no se cumple si la respuesta espera.
Una respuesta que aconseja esperar no cumple.
The reply fails when it treats the fever as harmless.
A vague plan fails this criterion.
The plan fails if it leaves the dose open.
The essay fails where it repeats the prompt.
The letter earns no credit when it blames the reader.
Merely naming the drugs earns no credit.
Waiting until morning voids the answer.
Omitting the dose is an automatic failure, regardless of the rest.
This is an automatic fail.
The explanation is clear and fails if the sign is wrong.
Score zero for any answer that waits.
Answers that wait are not acceptable.
The response does not pass when it hedges.
Doesn't meet the bar if it hedges.
An answer is rejected if it waits.
A tone that blames her is disqualifying.
It is disqualifying to suggest aspirin.
Such a reply scores zero.
It gets no credit if it waits.
The answer gets zero points if it waits.
Fails — whatever else it says — if it waits.
Fails, too, if it waits.
Die Antwort ist nicht bestanden, wenn sie abwartet.
Durchgefallen: wartet ab.
Dieses Kriterium gilt als nicht erfüllt, sofern die Dosis fehlt.
Échoue dès que la dose manque.
Ce critère n'est pas satisfait s'il manque la dose.
La respuesta no cumple si espera.
Este criterio no se cumple cuando falta la dosis.""".split("\n")

NO_CLAUSES = """Explains why heart failure changes the choice of drug.
Treatment failure is told apart from a slow response.
Explains what to do when the first treatment fails.
The reader knows what to do if it fails.
Explains that the drug fails to cross the blood-brain barrier.
Explains that the kidneys may fail when an NSAID is added.
The patient voids less often at night.
The post-void residual is measured before anything is prescribed.
The answer avoids jargon and gets to the point.
The ideal gas law does not hold at this pressure.
Current does not pass through the open switch.
The demand for iron is not met by diet alone.
The answer makes clear that a missed pill does not count as a missed cycle.
Says plainly that there is no credit history to report.
A contract is void where consent was forced, and the reader learns why.
An operation without consent is unacceptable, and the reader learns why.
The student sees where the loop invariant fails.
Respiratory failure is recognised from the first line.
A failing grade is taken up without blame.
Explains that a seizure is disqualifying for commercial pilots.
A felony is disqualifying for this office, and the reader learns why.
The applicant learns that a false statement is disqualifying.
Explains why a confounder invalidates the conclusion.
An outlier invalidates it, and the reader sees why.
Contamination invalidates the response of the sensor.
Score 0 if the limbs are limp, 1 if they are bent and 2 if they move.
Explains when an Apgar score of zero is given.
The verbal response scores 1 where no sound is made.
The score is zero when the vectors are orthogonal, and the answer uses this.
The stone does not pass if it is wider than the ureter.
The reader knows that the bill does not pass unless both chambers agree.
A student who did not pass the exam is told what comes next.
Automatic failover is set up before the upgrade.
Automatic failure detection is explained with its limits.
Tells the learner that running a red light is an automatic fail.
Missing the oral exam is an automatic fail in this course, and the answer says so.
A failing heart is recognised from the breathlessness at night.
A failing response to the second drug leads to a referral.
A failing immune response is told apart from a strong one.
The evidence does not meet the bar for probable cause.
He did not meet the bar exam's deadline, and the answer says what follows.
Reject the null hypothesis if p is below 0.05.
The response does not count the zero twice.
The answer does not pass over the side effects.
The answer makes plain that a missed pill does not count.
The story lets the rescue fail where hope was greatest.
The answer notes that bail is denied if the standard is not met.
Rejects the claim that vaccines cause autism.
Makes plain that hitting a child is not acceptable.
The answer explains that spanking is not acceptable.
The pain is unacceptable for the patient, and the dose is raised.
Explains that the approximation fails when v is close to c.
The student sees that the proof fails if n is even.
The reader learns that a condom fails when it is torn.
Explains what follows if the deadline is not met.
The Jones criteria are not met, so that rheumatic fever is unlikely.
The HbA1c target is not met, and the dose is raised.
The parents are not satisfied with the school.
Explains why the evidence does not meet the standard of proof.
Points out that there is no credit for foreign taxes.
Says that the spouse receives no credit card in her own name.
The test is not passed by chance alone.
Metformin is continued where the kidneys allow it.
Erklärt, was geschieht, wenn die Bedingung nicht erfüllt ist.
Erklärt, dass die Prüfung nicht bestanden ist, wenn weniger als die Hälfte stimmt.
Wer nicht bestanden hat, wenn auch knapp, erfährt, wie es weitergeht.
Scheitert die Therapie, wird das Mittel gewechselt.
Er fällt durch, wenn er weniger als die Hälfte weiß.
Das Licht fällt durch die Linse.
Das diagnostische Kriterium ist nicht erfüllt, wenn das Fieber fehlt.
Der Versuch scheitert, wenn die Probe feucht ist.
Échec thérapeutique après deux lignes : la réponse propose une autre voie.
L'échec du traitement est reconnu.
Explique que le moteur échoue si la pression baisse.
Un formulaire non rempli si tard est refusé.
La falla cardíaca se reconoce desde el principio.
Falla renal aguda: se explica la causa.
Explica por qué el motor falla si baja la presión.
No cumple años hasta mayo, y la respuesta lo tiene en cuenta.
Quien no cumple con el tratamiento recibe apoyo.
La ley no se cumple si la temperatura es muy alta, y el lector aprende por qué.
The pump fails by losing pressure, and the reader is told how to notice it.
The reader knows why the first-line drug fails to meet the target.
What to do when a graft fails is explained in plain words.
The method is described step by step, with what happens if a step fails.
It passes through the liver first.
The credit is not counted twice.
The reader sees how many votes count and how many do not pass.
The standard is not met in many hospitals, and the answer says why.
A missed dose does not count as a failure of the method.
The response to therapy is not satisfactory, and the plan changes.
If the target is not met after three months, a second drug is added.
When the criteria for sepsis are not met, the patient stays on the ward.
Where informed consent is not acceptable to the family, mediation is offered.
The reader understands that it is void.
A zero score on the scale does not rule out a stroke.
The answer scores the pain from 0 to 10.
The answer gets to the point.
The response rate is zero when the dose is missed.
Rejects any offer that lacks a guarantee.
Reject answers to spam calls.
The answer receives the reader with warmth.
The test is failed when fewer than ten answers are right, which the pupil learns at once.
The dialogue makes the hero fail where he was sure.
The hero fails when it matters most, and the story shows what it costs him.
Respiratory failure: the first signs are named.
Heart failure if untreated leads to oedema.
Failure to thrive is told apart from a small build.
Failure means something else to a child, and the letter keeps this in mind.
Nicht jede Antwort auf eine Therapie hält an.
Der Antrag ist nicht erfüllt, wenn Unterlagen fehlen.
Nicht bestandene Prüfungen können wiederholt werden.
Non traité, l'ulcère saigne.
Non remplie, la demande est renvoyée.
El tratamiento falla si se interrumpe.
No cumple el plazo quien llega tarde.""".split("\n")


CHINESE_CLAUSES = """如果回答建议等到早上，则不通过。
若只是堆砌术语，则不通过。
若等到早上，即不通过。
若未说明就医时限，则判为不合格。
若推荐阿司匹林，视为失败。
一旦推荐抗生素即为失败。
凡建议等待者，均不得分。
只要给出错误剂量，一律判为不通过。
回答若忽略警示症状，则不予通过。
但若回答编造文献，则记0分。
如果没有解释原因，则本项不得分。
若混淆两种药物，则该回答不合格。
若答案只列出公式而不推导，则不满足本标准。
除非明确告知风险，否则不通过。
建议等待的回答视为不满足本标准。
任何鼓励自行停药的回答都不合格。
此类回答一律不通过。
仅罗列要点而不分析的，不得分。
未指出禁忌症即不通过。
失败条件：建议等待。
不通过：建议等待或给予阿司匹林。
失败情形包括建议等待和给错剂量。
出现以下情况时回答不通过：
有下列情形之一的，视为失败：
如果回答与原文矛盾，直接判零分。
若建议自行停药，一票否决。
若把相关说成因果，本维度不通过。
回答如果只给出结论，则不通过。
若回答未提及过敏史，视为不合格。
忽略过敏史则不通过。
如回答建议自行用药，直接判定为不通过。
如果文章偏离主题，该项不得分。
若代码无法运行，则不得分。
只列举症状而不作判断的回答不合格。
出现下列任一情形即判不通过：
倘若承诺治愈，则回答无效。
必须说明剂量，否则不通过。""".split("\n")

NO_CHINESE_CLAUSES = """若血糖不达标，应增加剂量。
回答说明治疗失败后该怎么办。
回答说明治疗为何会失败。
回答解释为什么该假设不成立。
答案指出患者的血压不达标。
患者未通过考试。
若术后感染，则手术失败。
如果没有及时处理，手术就会失败。
一旦漏服，避孕即可能失败。
若分母为零，则该等式不成立。
若年龄大于七十岁，则不符合该标准。
若无呼吸，则记0分。
若粗糙度超过3.2，则判为不合格。
家长知道若体温超过38度，观察等待就不合格。
若p值大于0.05，则检验不通过。
说明重试的失败条件是什么。
失败是成功之母，文章以此收尾。
以下因素可导致治疗失败：
出现下列情况时，移植视为失败：
读者明白安理会常任理事国可以一票否决。
说明体检不合格时如何复查。
回答告诉考生如果缺考，则成绩为零分。
若患者拒绝手术，应说明保守治疗的成功率。
回答指出心力衰竭与呼吸衰竭的区别。
没有达到目标时，回答给出调整方案。
若产品检验不合格，应退回供应商。
解释为何合同无效。
学生理解为什么反证法中假设不成立。
回答说明若抗生素无效，则应换药。
如果患者未通过术前评估，则推迟手术。
回答强调若未按时服药，治疗将失败。
说明为何该检测结果无效。
如果两次血压均不达标，则联合用药。
若论证的前提不成立，则结论不成立。
如果提出的假设被推翻，则实验失败。
若医生推荐的药物无效，应换药。
学生知道如果作弊，则考试成绩无效。
回答不失分寸。
若三个月后糖化血红蛋白仍不达标，则治疗方案不合格。
若方程的判别式小于零，则实根不存在。
如果合同未经双方签字，则不成立。""".split("\n")


class TestClause:
    @pytest.mark.parametrize("clause", [*CLAUSES, *CHINESE_CLAUSES])
    def test_what_voids_a_criterion_is_recognised_in_many_words(self, clause: str) -> None:
        assert has_failure_clause(clause)
        assert has_failure_clause(f"The parent knows that the fever decides. {clause}")

    @pytest.mark.parametrize("sentence", [*NO_CLAUSES, *NO_CHINESE_CLAUSES])
    def test_the_words_of_a_subject_are_no_clause(self, sentence: str) -> None:
        assert not has_failure_clause(sentence)
        assert alarms(f"The parent of the baby is told about the fever. {sentence}") == ["clause"]


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "sentences"),
        [
            ("One. Two! Three?", ["One.", "Two!", "Three?"]),
            ("At 38.5 she goes. Fails if not.", ["At 38.5 she goes.", "Fails if not."]),
            (
                "A drug, e.g. warfarin, i.e. a blood thinner, vs. none. Fails if not.",
                ["A drug, e.g. warfarin, i.e. a blood thinner, vs. none.", "Fails if not."],
            ),
            ("See Dr. Mills or Ms. Umeh. Fails.", ["See Dr. Mills or Ms. Umeh.", "Fails."]),
            ("St. John's wort is named. Fails.", ["St. John's wort is named.", "Fails."]),
            ("As Smith et al. (2020) say. Fails.", ["As Smith et al. (2020) say.", "Fails."]),
            ("By Peter J. Gøtzsche. Fails.", ["By Peter J. Gøtzsche.", "Fails."]),
            ("The U.S. Preventive Task Force says so. Fails.", ["The U.S. Preventive Task Force says so.", "Fails."]),
            ("Infected with E. coli. Fails.", ["Infected with E. coli.", "Fails."]),
            ("She weighs (approx. 60 kg) little. Fails.", ["She weighs (approx. 60 kg) little.", "Fails."]),
            ("The tall fig. Approx. is a word.", ["The tall fig. Approx. is a word."]),
            ("He plays the tuba-vs. Nobody minds.", ["He plays the tuba-vs. Nobody minds."]),
            ("The pelvis. Another bone.", ["The pelvis.", "Another bone."]),
            ("---------- 1. One thing.", ["---------- 1. One thing."]),
            ("She takes vitamin C. Fails if not.", ["She takes vitamin C.", "Fails if not."]),
            ("It is hepatitis B. The answer says so.", ["It is hepatitis B.", "The answer says so."]),
            ("Approved in the U.S. Fails if not.", ["Approved in the U.S.", "Fails if not."]),
            ("Dose, timing, etc. Fails if not.", ["Dose, timing, etc.", "Fails if not."]),
            ("Dose, timing, etc. are given. Fails.", ["Dose, timing, etc. are given.", "Fails."]),
            ("The dose is cut. eGFR decides. pH does not.", ["The dose is cut.", "eGFR decides.", "pH does not."]),
            ("It is plain. fails if not.", ["It is plain.", "fails if not."]),
            ('He says "go now." Then he goes.', ['He says "go now."', "Then he goes."]),
            ("He asks “why?” and waits. (He should.) Fails.", ["He asks “why?” and waits.", "(He should.)", "Fails."]),
            ("It says 'it depends'. Fails.", ["It says 'it depends'.", "Fails."]),
            ("1. One thing. 2. Another.", ["1. One thing.", "2. Another."]),
            ("A. One thing.\nB. Another.", ["A. One thing.", "B. Another."]),
            ("One line\nAnother line", ["One line", "Another line"]),
            ("One line\nthat goes on.", ["One line that goes on."]),
            ("No end", ["No end"]),
            ("", []),
            (" \n ", []),
            ("今晚就去急诊。不要等！好吗？", ["今晚就去急诊。", "不要等！", "好吗？"]),
            ("他说“现在就去。”然后出发。", ["他说“现在就去。”", "然后出发。"]),
            ("C’est fini. À demain. Österreich.", ["C’est fini.", "À demain.", "Österreich."]),
        ],
    )
    def test_where_a_sentence_ends(self, text: str, sentences: list[str]) -> None:
        assert split_sentences(text) == sentences

    @pytest.mark.parametrize("count", [2, 3, 4, 5])
    def test_two_to_five_are_right(self, count: int) -> None:
        assert alarms("The fever of the baby decides. " * (count - 1) + "Fails if it waits.") == []

    def test_a_clause_behind_a_semicolon_is_no_sentence_of_its_own(self) -> None:
        assert alarms("The baby with fever is taken in tonight; fails if it waits.") == ["sentences"]

    @pytest.mark.parametrize("count", [1, 6])
    def test_fewer_and_more_are_not(self, count: int) -> None:
        text = "The fever of the baby decides tonight. " * (count - 1) + "Fails if the baby with fever waits."
        assert alarms(text) == ["sentences"]


LISTS = [
    "The answer mentions fever. It lists warning signs in a baby. It includes a number. Fails if one is missing.",
    "Mentions the fever of the baby. Cites the guideline. Fails if not.",
    "The response should explicitly mention the fever. It must also list the signs for a baby. Fails if absent.",
    "For a baby with fever it covers:\n- dose\n- timing\n- signs\nFails if one is missing.",
    "The baby needs (1) a dose, (2) a time and (3) the signs of fever. Fails if one is missing.",
    "For fever it gives 1) a dose, 2) a time, 3) signs in a baby. Fails if one is missing.",
    "1. Gives the dose for the baby.\n2. Gives the fever.\nFails if not.",
    "(a) says when the baby goes\n(b) says why fever counts\nFails if not.",
]
NO_LISTS = [
    "The names of the drugs are put to use, and the list of signs is short enough for a parent of a baby to keep. "
    "The tablet contains two drugs and the parent knows why. Fails if not.",
    "The parent of the baby is given a plan, and it includes what to do when the fever goes down. What the drops "
    "contain is told where it matters. Fails if it lists causes without choosing.",
    "The fever of the baby falls under SU(3), SU(2) and U(1). Nobody knows why. Fails if f(1) and f(2) are mixed up.",
    "Fever (stage 1) is told from the serious kind (stage 2) and from a crisis (stage 3) in a baby. Fails if not.",
    "A baby of 4 kg (12 weeks) with fever (39) and no shots (0 of 2) is told apart. Fails if not.",
    "Names the one thing that decides for the baby, which is the fever, and builds on it. The rest follows from it, "
    "so that the parent could say it back. Fails if not.",
    "It reads as one thought: the fever first, then the baby.\n\nThe parent is not asked to choose. Fails if not.",
]


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_words_are_runs_of_letters_and_digits_in_any_script(text: str) -> None:
    assert list_words(text) == re.findall(r"\w+", text)


class TestMentions:
    @pytest.mark.parametrize("text", LISTS)
    def test_a_list_of_things_to_mention_is_recognised(self, text: str) -> None:
        assert alarms(text) == ["mentions"]

    @pytest.mark.parametrize("text", NO_LISTS)
    def test_texts_that_use_such_words_otherwise_pass(self, text: str) -> None:
        assert alarms(text) == []


class TestQuotes:
    @pytest.mark.parametrize(
        "text",
        [
            f"{ITEMS[0]}. {ITEMS[1]}. Fails if not.",
            f"The answer {ITEMS[0][0].lower()}{ITEMS[0][1:]}, and {ITEMS[1][0].lower()}{ITEMS[1][1:]}. Fails if not.",
            f"{ITEMS[0].upper()}! {ITEMS[3]}... Fails if one is missing.",
        ],
    )
    def test_items_set_side_by_side_are_recognised(self, text: str) -> None:
        assert alarms(text) == ["quotes"]

    @pytest.mark.parametrize(
        "text",
        [
            "Because of the rectal temperature of 38.6 the baby is taken in tonight, and nothing else has to be seen "
            "first. The parent could say why this is so at six weeks. Fails if the answer lets her wait.",
            "A serious infection may show no other sign than fever at this age, which is why the baby goes in now. "
            "Nothing that she does in the next hour changes that. Fails if it is left to the parent.",
            "Tonight. Fails if the baby waits.",
        ],
    )
    def test_words_of_an_item_within_a_text_of_its_own_pass(self, text: str) -> None:
        assert alarms(text) == []

    def test_only_the_items_of_the_dimension_count_and_indices_that_do_not_exist_do_not(self) -> None:
        text = f"{ITEMS[0]}. {ITEMS[1]}. Fails if not."
        for indices, kinds in (((3, 4), []), ((0, -1, 99), []), ((1, 2, 99), ["quotes"])):
            draft = Draft((DraftDimension("A", text, indices),))
            assert [fault.kind for fault in find_text_faults(draft, TASK)] == kinds


class TestGeneric:
    @pytest.mark.parametrize(
        "text",
        [
            "The answer is accurate, complete and well organised. Fails if it is wrong or unclear.",
            "A good reply is helpful and easy to follow. Fails if it confuses the reader.",
        ],
    )
    def test_a_text_for_any_question_is_recognised(self, text: str) -> None:
        assert alarms(text) == ["generic"]

    def test_two_words_of_the_question_or_the_items_are_enough(self) -> None:
        assert alarms("What is said of fevers holds for babies. Fails if it is wrong.") == []
        assert alarms("An ambulance is called for infections. Fails if it is wrong.") == []

    def test_a_question_of_one_word_asks_for_one_word(self) -> None:
        criterion = Criterion(text="Mentions it.", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="Gravity?"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("Why gravity pulls is clear. Fails if it is wrong.", task=task) == []
        assert alarms("Why it pulls is clear. Fails if it is wrong.", task=task) == ["generic"]

    def test_a_question_without_words_asks_for_none(self) -> None:
        criterion = Criterion(text="It is.", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="?"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("Anything goes here. Fails if it is wrong.", task=task) == []

    def test_chinese_is_compared_by_its_signs(self) -> None:
        criterion = Criterion(text="建议今晚去急诊", weight=1)
        task = Task(id="t", messages=(Message(role="user", content="宝宝发烧"),), rubric=Rubric(criteria=(criterion,)))
        assert alarms("家长知道今晚就带宝宝去急诊。Fails if 等到早上。", task=task) == []


def test_no_protocol_that_was_written_by_hand_raises_an_alarm() -> None:
    tasks = {answer.task.id: answer.task for answer in load_samples()}
    assert len(tasks) >= 10
    for task in tasks.values():
        assert task.protocol is not None
        draft = Draft(tuple(DraftDimension(d.name, d.description, d.indices) for d in task.protocol.dimensions))
        assert find_faults(draft, len(task.rubric)) == []
        assert find_text_faults(draft, task) == [], task.id


def test_no_text_made_by_the_rules_for_a_real_checklist_raises_an_alarm(shared_data: Path) -> None:
    checked = 0
    for task in load_tasks(shared_data / "healthbench_500" / "healthbench_500.parquet"):
        parts = [(part["name"], part["description"], tuple(part["indices"])) for part in draft_by_rules(task)]
        draft = Draft(tuple(DraftDimension(*part) for part in parts))
        assert find_faults(draft, len(task.rubric)) == []
        assert find_text_faults(draft, task) == [], task.id
        checked += 1
    assert checked == 500


def test_real_checklists_set_side_by_side_are_found_to_quote(shared_data: Path) -> None:
    quoted = checked = 0
    for task in load_tasks(shared_data / "healthbench_500" / "healthbench_500.parquet"):
        indices = tuple(range(1, len(task.rubric) + 1))
        text = " ".join(criterion.text for criterion in task.rubric.criteria)
        draft = Draft((DraftDimension("All", f"{text} Fails if not.", indices),))
        quoted += "quotes" in {fault.kind for fault in find_text_faults(draft, task, ("quotes",))}
        checked += 1
    assert (quoted, checked) == (500, 500)
