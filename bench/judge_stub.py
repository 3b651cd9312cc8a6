"""A judge that takes its time and says true to everything: an OpenAI-compatible endpoint for the benchmarks.

Run: python bench/judge_stub.py PORT LATENCY_SECONDS ITEMS. It prints `ready` when it listens.
"""

import asyncio
import json
import sys

from aiohttp import web


def main() -> None:
    port, latency, items = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    verdicts = json.dumps({"satisfied": {str(index): True for index in range(1, items + 1)}})
    # The peer package asks for a list of its own form; it is told by a word of its schema.
    peer = json.dumps(
        {"criteria_evaluations": [
            {"criterion_number": i, "criterion_status": "MET", "explanation": "x"} for i in range(1, items + 1)
        ]}
    )  # fmt: skip

    def reply(text: str) -> bytes:
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 2000, "completion_tokens": 200, "total_tokens": 2200}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        whole = {"id": "stub", "object": "chat.completion", "created": 0, "model": "stub", "choices": [choice]}
        return json.dumps({**whole, "usage": usage}).encode()

    ours, theirs = reply(verdicts), reply(peer)

    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        if latency:
            await asyncio.sleep(latency)
        return web.Response(body=theirs if b"criterion_status" in body else ours, content_type="application/json")

    async def serve() -> None:
        app = web.Application(client_max_size=1 << 24)
        app.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        print("ready", flush=True)
        await asyncio.Event().wait()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
