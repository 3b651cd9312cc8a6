"""Several questions at once: results in order, a window that is never exceeded, and an error that ends everything."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.errors import ConfigError, ModelError
from prorubric.llm.together import run_in_order, run_sync, run_together
from tests.llm.asking import run

T = TypeVar("T")


async def collect(results: AsyncGenerator[T, None]) -> list[T]:
    async with aclosing(results):
        return [result async for result in results]


class Jobs:
    """Work that can be watched: what was taken from the source, what runs, what was cancelled."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.running = 0
        self.most = 0
        self.gates: dict[int, asyncio.Event] = {}

    def gate(self, number: int) -> asyncio.Event:
        return self.gates.setdefault(number, asyncio.Event())

    async def work(self, number: int, error: BaseException | None = None) -> int:
        """Wait for the gate of this number, then give the number back or fail."""
        self.begun.append(number)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.gate(number).wait()
        except asyncio.CancelledError:
            self.cancelled.append(number)
            raise
        finally:
            self.running -= 1
        if error is not None:
            raise error
        return number

    def source(self, numbers: Iterable[int], errors: dict[int, BaseException] | None = None) -> Iterator[Any]:
        for number in numbers:
            self.made.append(number)
            yield self.work(number, (errors or {}).get(number))


async def turn(times: int = 20) -> None:
    """Let everything that can go on go on; no clock is involved."""
    for _ in range(times):
        await asyncio.sleep(0)


class TestOrder:
    @given(delays=st.lists(st.integers(0, 12), max_size=30), window=st.integers(1, 12))
    def test_results_come_in_the_order_of_the_work_whatever_takes_how_long(
        self, delays: list[int], window: int
    ) -> None:
        async def wait(number: int, delay: int) -> int:
            await turn(delay)
            return number

        found = run(collect(run_in_order((wait(i, delay) for i, delay in enumerate(delays)), window)))
        assert found == list(range(len(delays)))

    def test_the_last_may_finish_first(self) -> None:
        async def check() -> None:
            jobs, finished = Jobs(), []

            async def noted(number: int) -> int:
                await jobs.work(number)
                finished.append(number)
                return number

            results = asyncio.create_task(collect(run_in_order((noted(i) for i in range(3)), 3)))
            for number in (2, 1, 0):
                await turn()
                jobs.gate(number).set()
            assert await results == [0, 1, 2]
            assert finished == [2, 1, 0]

        run(check())

    def test_no_work_gives_no_results(self) -> None:
        assert run(collect(run_in_order([], 5))) == []


class TestWindow:
    @pytest.mark.parametrize("window", [1, 2, 7])
    def test_as_many_as_the_window_are_running_and_no_more(self, window: int) -> None:
        async def check() -> None:
            jobs = Jobs()
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(20)), window)))
            await turn(100)
            assert (jobs.made, jobs.running) == (list(range(window)), window)
            for number in range(20):
                jobs.gate(number).set()
                await turn()
                assert len(jobs.made) <= number + 1 + window
            assert await results == list(range(20))
            assert jobs.most == window

        run(check())

    def test_one_that_takes_long_holds_back_only_what_is_beyond_the_window(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            for number in range(1, 20):
                jobs.gate(number).set()
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(20)), 5)))
            await turn(200)
            assert jobs.made == [0, 1, 2, 3, 4]
            jobs.gate(0).set()
            assert await results == list(range(20))

        run(check())

    def test_work_is_taken_from_its_source_only_as_the_results_are_used(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            for number in range(100):
                jobs.gate(number).set()
            async with aclosing(run_in_order(jobs.source(range(100)), 3)) as results:
                assert await anext(results) == 0
                await turn(50)
                assert jobs.made == [0, 1, 2]
                assert await anext(results) == 1
                await turn(50)
                assert jobs.made == [0, 1, 2, 3]

        run(check())

    def test_the_first_call_goes_out_before_the_second_is_prepared(self) -> None:
        jobs = Jobs()
        seen: list[tuple[int, list[int]]] = []

        def source() -> Iterator[Coroutine[Any, Any, int]]:
            for number in range(3):
                seen.append((number, [*jobs.begun]))
                jobs.gate(number).set()
                yield jobs.work(number)

        run(collect(run_in_order(source(), 10)))
        assert seen == [(0, []), (1, [0]), (2, [0, 1])]

    def test_a_source_that_is_ready_at_once_leaves_turns_to_others(self) -> None:
        async def nothing(number: int) -> int:
            return number

        async def check() -> int:
            turns = 0

            async def count_turns() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            other = asyncio.create_task(count_turns())
            assert len(await collect(run_in_order(map(nothing, range(1_000)), 4))) == 1_000
            other.cancel()
            return turns

        assert run(check()) >= 1_000 // 16


class TestErrors:
    def test_the_first_error_comes_out_as_itself_without_waiting_for_those_before_it(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            error = ModelError("no such model")
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(10), {2: error}), 4)))
            await turn()
            jobs.gate(2).set()
            with pytest.raises(ModelError) as caught:
                await results
            assert caught.value is error
            assert jobs.made == [0, 1, 2, 3]
            assert sorted(jobs.cancelled) == [0, 1, 3]
            assert jobs.running == 0

        run(check())

    def test_of_two_errors_the_first_in_time_counts(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            errors: dict[int, BaseException] = {0: ValueError("later"), 3: ValueError("sooner")}
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(10), errors), 4)))
            await turn()
            jobs.gate(3).set()
            await turn(1)
            jobs.gate(0).set()
            with pytest.raises(ValueError, match="sooner"):
                await results

        run(check())

    def test_nothing_is_begun_once_one_has_failed(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(50), {4: ValueError("broken")}), 5)))
            await turn()
            for number in range(50):
                jobs.gate(number).set()
            with pytest.raises(ValueError, match="broken"):
                await results
            assert jobs.begun == [0, 1, 2, 3, 4]

        run(check())

    def test_a_source_that_fails_ends_what_is_running(self) -> None:
        async def check() -> None:
            jobs = Jobs()

            def source() -> Iterator[Coroutine[Any, Any, int]]:
                yield from jobs.source(range(2))
                raise ConfigError("row 3 is broken")

            with pytest.raises(ConfigError, match="row 3 is broken"):
                await collect(run_in_order(source(), 5))
            assert sorted(jobs.cancelled) == [0, 1]

        run(check())

    def test_results_before_the_error_are_given_out_first(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            results = run_in_order(jobs.source(range(10), {2: ValueError("broken")}), 2)
            jobs.gate(0).set()
            assert await anext(results) == 0
            jobs.gate(1).set()
            assert await anext(results) == 1
            jobs.gate(2).set()
            with pytest.raises(ValueError, match="broken"):
                await anext(results)

        run(check())


class TestCancellation:
    def test_a_cancelled_consumer_leaves_nothing_running(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            results = asyncio.create_task(collect(run_in_order(jobs.source(range(10)), 4)))
            await turn()
            results.cancel()
            with pytest.raises(asyncio.CancelledError):
                await results
            assert (sorted(jobs.cancelled), jobs.running) == ([0, 1, 2, 3], 0)
            assert jobs.made == [0, 1, 2, 3]
            assert asyncio.all_tasks() == {asyncio.current_task()}

        run(check())

    def test_a_consumer_that_stops_early_leaves_nothing_running(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            jobs.gate(0).set()
            results = run_in_order(jobs.source(range(10)), 3)
            async for result in results:
                assert result == 0
                break
            await results.aclose()
            assert (jobs.cancelled, jobs.running) == ([1, 2], 0)

        run(check())

    def test_what_a_job_does_at_its_end_is_waited_for(self) -> None:
        async def check() -> None:
            tidied: list[int] = []

            async def work(number: int) -> int:
                try:
                    await asyncio.Event().wait()
                finally:
                    await turn(10)
                    tidied.append(number)
                return number

            results = asyncio.create_task(collect(run_in_order((work(i) for i in range(9)), 3)))
            await turn()
            results.cancel()
            with pytest.raises(asyncio.CancelledError):
                await results
            assert sorted(tidied) == [0, 1, 2]

        run(check())


def measure_peak(count: int) -> int:
    """The peak of what Python holds while `count` results of ten kilobytes pass through and are dropped."""

    async def work(number: int) -> bytes:
        await asyncio.sleep(0)
        return number.to_bytes(4, "big") * 2_500

    async def consume() -> int:
        total = 0
        async for result in run_in_order((work(i) for i in range(count)), 16):
            total += len(result)
        return total

    gc.collect()
    tracemalloc.start()
    try:
        assert run(consume()) == count * 10_000
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_length_of_the_work() -> None:
    measure_peak(50)
    short, long = measure_peak(200), measure_peak(4_000)
    # Forty megabytes pass through; a window of 16 holds less than one.
    assert long < short + 500_000


class TestTogether:
    def test_the_results_are_in_order(self) -> None:
        async def wait(number: int) -> int:
            await turn(10 - number)
            return number

        assert run(run_together(wait(i) for i in range(10))) == list(range(10))

    def test_an_error_for_the_user_comes_out_as_itself_and_ends_the_others(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            jobs.gate(1).set()
            with pytest.raises(ModelError, match="wrong key"):
                await run_together(jobs.source(range(3), {1: ModelError("wrong key")}))
            assert sorted(jobs.cancelled) == [0, 2]

        run(check())

    def test_a_bug_stays_in_its_group(self) -> None:
        async def check() -> None:
            jobs = Jobs()
            jobs.gate(0).set()
            with pytest.raises(BaseExceptionGroup) as caught:
                await run_together(jobs.source([0, 1], {0: KeyError("a bug")}))
            assert [repr(error) for error in caught.value.exceptions] == ["KeyError('a bug')"]

        run(check())

    def test_one_coroutine_needs_no_task_and_its_errors_are_raised_as_they_are(self) -> None:
        async def name_task() -> asyncio.Task[object] | None:
            return asyncio.current_task()

        async def check() -> None:
            assert await run_together([name_task()]) == [asyncio.current_task()]
            assert asyncio.current_task() not in await run_together([name_task(), name_task()])
            jobs = Jobs()
            jobs.gate(0).set()
            with pytest.raises(KeyError, match="a bug"):
                await run_together(jobs.source([0], {0: KeyError("a bug")}))

        run(check())


def test_work_runs_to_its_end_with_and_without_a_loop() -> None:
    async def give() -> int:
        await asyncio.sleep(0)
        return 7

    async def inside() -> int:
        return run_sync(give())

    assert run_sync(give()) == 7
    assert run(inside()) == 7
