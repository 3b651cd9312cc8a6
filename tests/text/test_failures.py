"""What says in explicit words what voids an answer, and what only speaks of failing: sentences of both kinds."""

from prorubric.text.failures import has_failure_clause
from tests.compile.test_check import alarms

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


def test_what_voids_a_criterion_is_recognised_in_many_words() -> None:
    clauses = [*CLAUSES, *CHINESE_CLAUSES]
    assert [clause for clause in clauses if not has_failure_clause(clause)] == []
    later = [f"The parent knows that the fever decides. {clause}" for clause in clauses]
    assert [text for text in later if not has_failure_clause(text)] == []


def test_the_words_of_a_subject_are_no_clause() -> None:
    sentences = [*NO_CLAUSES, *NO_CHINESE_CLAUSES]
    assert [sentence for sentence in sentences if has_failure_clause(sentence)] == []
    later = [f"The parent of the baby is told about the fever. {sentence}" for sentence in sentences]
    assert [text for text in later if alarms(text) != ["clause"]] == []
