"""RuscaRL and self-distillation inside the real TRL: which ids are in the loss, and what the loss is."""

from typing import Any

import pytest

from tests.train.running import run_in, trainers

pytestmark = trainers


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("trl", "trl_methods.py", tmp_path_factory.mktemp("methods"))


class TestScaffolds:
    @pytest.mark.parametrize("name", ["scaffolded", "original"])
    def test_the_policy_answers_the_scaffolded_prompt_of_its_step(self, run: dict[str, Any], name: str) -> None:
        assert run[name]["saw the scaffold"]
        # Of 2 × 4 rollouts with 3, 2, 1 and 0 items, and then with 2, 1, 1 and 0.
        assert run[name]["distinct"] == [8, 7]
        assert run[name]["changed"] == 24

    @pytest.mark.parametrize("name", ["scaffolded", "original"])
    def test_the_loss_is_computed_on_the_prompt_of_train_on(self, run: dict[str, Any], name: str) -> None:
        assert run[name]["learned from the scaffolded"] is (name == "scaffolded")
        assert run[name]["learned from the original"] is (name == "original")

    @pytest.mark.parametrize("name", ["scaffolded", "original"])
    def test_evaluation_has_no_scaffold(self, run: dict[str, Any], name: str) -> None:
        assert run[name]["evaluated on the original"]

    def test_what_cannot_be_trained_is_refused(self, run: dict[str, Any]) -> None:
        said = run["scaffolds refused"]
        assert said["ambiguous"] == (
            "ConfigError: tasks 'fever' and 'other' have the same prompt and different rubrics, and TRL tells a "
            "rollout only the prompt; leave one of them out"
        )
        assert said["corrected"] == (
            "ConfigError: vLLM's log-probabilities are those of the scaffolded prompt, and the loss is on the "
            "original; set vllm_importance_sampling_correction=False"
        )
        assert said["unknown"] == (
            "ConfigError: no task has the prompt [{'role': 'user', 'content': 'My knee hurts, and it is late…; give "
            "the rollout the tasks of the dataset"
        )


class TestDistillation:
    def test_torch_equals_numpy_for_every_combination_of_options(self, run: dict[str, Any]) -> None:
        assert run["compared"] < 1e-14

    def test_the_loss_of_an_update_is_numpys(self, run: dict[str, Any]) -> None:
        found = run["distilled"]
        assert len(found["losses"]) == 3
        assert found["losses"] == pytest.approx(found["exact"], rel=1e-5)

    def test_only_the_student_learns(self, run: dict[str, Any]) -> None:
        assert (run["distilled"]["student changed"], run["distilled"]["teacher changed"]) == (24, 0)

    def test_only_the_teacher_reads_the_rubric(self, run: dict[str, Any]) -> None:
        nobody, everybody = [False] * 4, [True] * 4
        assert run["distilled"]["rubric read"] == [nobody, nobody, everybody]
        assert run["distilled"]["rubric named"] == [nobody, nobody, everybody]

    def test_the_teacher_reads_the_answer_of_the_student(self, run: dict[str, Any]) -> None:
        assert run["distilled"]["same answer"]

    @pytest.mark.parametrize("teacher", ["base", "ema", "live"])
    def test_a_teacher_that_is_told_nothing_has_nothing_to_teach_at_first(
        self, run: dict[str, Any], teacher: str
    ) -> None:
        assert run["untold"][teacher] == [pytest.approx(0, abs=1e-6)]

    def test_an_update_is_the_mean_of_its_tokens_however_they_are_divided(self, run: dict[str, Any]) -> None:
        whole, parts, updates = run["parts"]
        assert parts == pytest.approx(whole, rel=1e-5)
        # Two updates of a rollout, with 1 + 3 and 5 + 7 of its 16 tokens.
        assert [(a * 4 + b * 12) / 16 for a, b in zip(updates[::2], updates[1::2], strict=True)] == pytest.approx(
            whole, rel=1e-5
        )

    def test_the_loss_falls(self, run: dict[str, Any]) -> None:
        losses = run["long"]
        assert len(losses) == 24
        assert sum(losses[-6:]) < 0.7 * sum(losses[:6])

    def test_a_teacher_that_is_an_average_moves_and_is_resumed(self, run: dict[str, Any]) -> None:
        assert run["average"] == {
            "teacher changed": 24,
            "teacher is the student": False,
            "resumed student differs": 0,
            "resumed teacher differs": 0,
        }

    def test_settings_that_do_not_fit_are_refused(self, run: dict[str, Any]) -> None:
        assert run["distillation refused"] == {
            "truncated": "ConfigError: SDFTConfig: max_prompt_length is 512, and self-distillation needs None",
            "divided": "ConfigError: a rollout of 4 batches does not divide into updates of 3; choose another "
            "gradient_accumulation_steps",
        }
