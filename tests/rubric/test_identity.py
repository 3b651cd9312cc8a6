"""Results that are kept by the identity of an object, for as long as it lives."""

import gc

from prorubric.rubric.identity import remember


class Owner:
    """Equal to every other."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_a_result_is_worked_out_once_for_an_object_and_the_other_arguments() -> None:
    asked: list[tuple[Owner, str]] = []

    @remember(10)
    def find(owner: Owner, name: str) -> list[str]:
        asked.append((owner, name))
        return [name]

    first, second = Owner(), Owner()
    assert find(first, "a") is find(first, "a")
    assert find(first, "b") is find(first, "b")
    assert find(second, "a") is not find(first, "a")
    assert [(owner is first, name) for owner, name in asked] == [(True, "a"), (True, "b"), (False, "a")]


def test_a_result_goes_with_its_object() -> None:
    class Result:
        pass

    @remember(10)
    def find(owner: Owner) -> Result:
        return Result()

    owner = Owner()
    find(owner)
    assert sum(isinstance(one, Result) for one in gc.get_objects()) == 1
    del owner
    gc.collect()
    assert sum(isinstance(one, Result) for one in gc.get_objects()) == 0


def test_results_are_kept_for_a_number_of_objects_and_the_oldest_go() -> None:
    calls = 0

    @remember(2)
    def find(owner: Owner, number: int) -> int:
        nonlocal calls
        calls += 1
        return number

    owners = [Owner() for _ in range(3)]
    for owner in (*owners, *owners[1:]):
        assert find(owner, 7) == 7
    assert calls == 3
    find(owners[0], 7)
    assert calls == 4


def test_an_object_with_many_forms_keeps_a_few() -> None:
    @remember(2)
    def find(owner: Owner, number: int) -> list[int]:
        return [number]

    owner = Owner()
    kept = [find(owner, number) for number in range(100)]
    assert find(owner, 99) is kept[99]
    assert find(owner, 0) is not kept[0]
