"""A harness for `vf-eval` that makes two model calls, with the result of a tool and a user's turn between them."""

import json

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}


class TwoCallsConfig(vf.HarnessConfig):
    pass


class TwoCalls(vf.Harness[TwoCallsConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else map(message_to_wire, prompt)
        messages = [*([{"role": "system", "content": system}] if system else []), *turns]
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {secret}"}) as session:
            first = await self._ask(session, endpoint, {"model": ctx.model, "messages": messages, "tools": [TOOL]})
            (call,) = first["tool_calls"]
            sample = json.loads(call["function"]["arguments"])["sample"]
            result = {"role": "tool", "content": f"{sample} results 🩺", "tool_call_id": call["id"]}
            messages += [first, result, {"role": "user", "content": "And now?"}]
            await self._ask(session, endpoint, {"model": ctx.model, "messages": messages})
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    async def _ask(self, session, endpoint, body) -> dict:
        async with session.post(f"{endpoint}/chat/completions", json=body) as reply:
            reply.raise_for_status()
            return (await reply.json())["choices"][0]["message"]


__all__ = ["TwoCalls"]
