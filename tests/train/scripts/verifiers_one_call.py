"""A harness for `vf-eval` that makes one model call in its own process; the built-in one starts a program a rollout."""

import aiohttp
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire


class OneCallConfig(vf.HarnessConfig):
    pass


class OneCall(vf.Harness[OneCallConfig]):
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else map(message_to_wire, prompt)
        messages = [*([{"role": "system", "content": system}] if system else []), *turns]
        async with (
            aiohttp.ClientSession(headers={"Authorization": f"Bearer {secret}"}) as session,
            session.post(f"{endpoint}/chat/completions", json={"model": ctx.model, "messages": messages}) as reply,
        ):
            reply.raise_for_status()
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")


__all__ = ["OneCall"]
