"""The openai client and the PyPI package `rubric` on the same work as ours; bench/judge.py runs it.

Run: python bench/judge_peers.py openai|rubric URL FOLDER CONCURRENCY. Prints seconds of wall clock and of CPU.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def ask_with_openai(client: AsyncOpenAI, task: dict[str, Any], answer: str) -> float:
    """What a script would do: one call, parse the object, sum the weights."""
    items = [{"index": i, "criterion": c["criterion"], "weight": c["weight"]} for i, c in enumerate(task["rubric"], 1)]
    prompt = f"{task['messages'][0]['content']}\n\n{answer}\n\n{json.dumps(items)}"
    reply = await client.chat.completions.create(
        model="stub", messages=[{"role": "user", "content": prompt}], temperature=0, max_tokens=1024
    )
    verdicts = json.loads(reply.choices[0].message.content or "")["satisfied"]
    weights = [criterion["weight"] for criterion in task["rubric"]]
    total = sum(weight * verdicts[str(i)] for i, weight in enumerate(weights, 1))
    return float(total / sum(weight for weight in weights if weight > 0))


async def ask_with_rubric(client: AsyncOpenAI, task: dict[str, Any], answer: str) -> float:
    from rubric.autograders import PerCriterionOneShotGrader  # noqa: PLC0415

    from rubric import Criterion, OneShotOutput, Rubric  # noqa: PLC0415

    async def generate(system_prompt: str, user_prompt: str, **_: Any) -> Any:
        reply = await client.chat.completions.create(
            model="stub",
            messages=[{"role": "system", "content": system_prompt}, {"role": "user", "content": user_prompt}],
        )
        return OneShotOutput.model_validate_json(reply.choices[0].message.content or "")

    checklist = Rubric([Criterion(weight=c["weight"], requirement=c["criterion"]) for c in task["rubric"]])
    grader = PerCriterionOneShotGrader(generate_fn=generate)
    report = await checklist.grade(answer, autograder=grader, query=task["messages"][0]["content"])
    return float(report.score)


async def main() -> None:
    kind, url, folder, concurrency = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    tasks = {task["id"]: task for task in read_rows(folder / "tasks.jsonl")}
    responses = read_rows(folder / "responses.jsonl")
    gate = asyncio.Semaphore(concurrency)
    ask = ask_with_openai if kind == "openai" else ask_with_rubric

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def one(row: dict[str, Any]) -> float:
            async with gate:
                return await ask(client, tasks[row["task_id"]], row["response"])

        wall, cpu = time.perf_counter(), time.process_time()
        scores = await asyncio.gather(*map(one, responses))
        print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "n": len(scores)}))


if __name__ == "__main__":
    asyncio.run(main())
