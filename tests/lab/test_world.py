import numpy as np
import pytest

from prorubric.errors import ConfigError
from prorubric.lab.cases import Cases, encode_cases, render_case
from prorubric.lab.world import ASK, WORLDS, find_world, make_world


def test_worlds_have_names_and_another_name_is_refused() -> None:
    assert {"triage-v1", "triage-v1-redrawn", "science-v1", "dialogue-v1"} <= WORLDS.keys()
    with pytest.raises(ConfigError, match="no world is called 'triage-v9'; known: triage-v1, triage-v1-redrawn, "):
        find_world("triage-v9")


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_whole(name: str) -> None:
    world, spec = make_world(name), find_world(name)
    pool = world.pool_F_I.sum(axis=1)
    assert set(pool) == {4 * spec.pool_per_part}
    assert set(world.core_F_V_I.sum(axis=2).ravel()) == {spec.core}
    assert not (world.core_F_V_I & ~world.pool_F_I[:, None]).any()
    assert [int(count) for count in world.needed_F_V_X[0].sum(axis=1)] == list(spec.needed_tests)
    assert not world.needed_F_V_X[:, :, -len(world.texts.risky_tests) :].any()


def test_the_same_seed_draws_the_same_cases_and_another_does_not() -> None:
    world = make_world("triage-v1")
    first, again, other = Cases(world, 50, 7), Cases(world, 50, 7), Cases(world, 50, 8)
    assert (first.truth_T_J == again.truth_T_J).all()
    assert (first.side_T_I == again.side_T_I).all()
    assert not (first.truth_T_J == other.truth_T_J).all()


def test_cases_come_at_the_rates_that_the_world_states() -> None:
    world = make_world("triage-v1")
    cases = Cases(world, 20_000, 3)
    thin = cases.level_T == ASK
    assert thin.mean() == pytest.approx(0.20, abs=0.01)
    assert cases.expert_T.mean() == pytest.approx(0.35, abs=0.011)
    assert (~cases.told_T_J[thin]).mean() == pytest.approx(0.70, abs=0.01)
    assert (~cases.told_T_J[~thin]).mean() == pytest.approx(0.15, abs=0.01)
    agrees = cases.side_T_I == cases.truth_T_J[:, world.finding_I]
    assert agrees.mean() == pytest.approx(0.70, abs=0.01)


def test_a_reader_who_knows_the_world_decides_most_full_cases_rightly_and_not_all() -> None:
    world = make_world("triage-v1")
    cases = Cases(world, 20_000, 3)
    full = np.flatnonzero(cases.level_T != ASK)
    likelihood = []
    for severity in range(4):
        lean = (world.bias_F_J + world.slope_F_J * (severity - 1.5))[cases.family_T[full]]
        told = -np.log1p(np.exp(-cases.truth_T_J[full] * lean)) * cases.told_T_J[full]
        likelihood.append(told.sum(axis=1))
    right = np.argmax(likelihood, axis=0) == cases.level_T[full]
    assert right.mean() == pytest.approx(0.77, abs=0.01)


def test_the_policy_sees_what_is_told_and_nothing_of_what_is_hidden() -> None:
    world = make_world("triage-v1")
    cases = Cases(world, 100, 0)
    seen = encode_cases(world, cases)
    assert seen.shape == (100, 8 + 10 + 1 + 2)
    assert (seen[:, 8:18][~cases.told_T_J] == 0).all()
    assert (seen[:, 8:18][cases.told_T_J] == cases.truth_T_J[cases.told_T_J]).all()


def test_a_case_reads_as_what_a_person_writes() -> None:
    world = make_world("triage-v1")
    cases = Cases(world, 50, 0)
    row = int(np.flatnonzero(~cases.expert_T)[0])
    text = render_case(world, cases, row)
    assert text.startswith(f"I have had {world.texts.families[cases.family_T[row]]} since yesterday and I am worried.")
    assert text.endswith("What should I do?")


@pytest.mark.parametrize("name", WORLDS)
def test_every_move_has_a_sentence_of_its_own_and_a_price(name: str) -> None:
    moves = make_world(name).moves
    assert len(moves.sentences) == len(set(moves.sentences)) == len(moves.tokens_M)
    assert moves.tokens_M[0] == 0
    assert (moves.tokens_M[1:] > 0).all()


def test_an_answer_reads_as_its_sentences() -> None:
    moves = make_world("triage-v1").moves
    row = np.array([moves.number("decide", 3), moves.number("name", 0), moves.number("for", 0), 0, 0])
    assert moves.render(row) == (
        "Call an ambulance now. Think of a heart attack too. "
        "A heart attack: of weight here, because it gets worse with effort."
    )


def test_the_texts_of_a_world_fit_together() -> None:
    for name in WORLDS:
        texts = make_world(name).texts
        assert len(texts.decisions) == len(texts.decision_criteria) == 5
        assert len(texts.parts) == len(texts.items) == 4
        assert list(texts.manner) == list(texts.manner_criterion) == list(texts.opening) == ["lay", "expert"]
