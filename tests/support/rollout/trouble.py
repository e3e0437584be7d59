"""Waits for a group to report trouble."""

import asyncio

from tests.integration.rollout.rows import Run


async def until_reason(run: Run, text: str) -> None:
    while not any(text in (group["reason"] or "") for group in run.groups()):
        await asyncio.sleep(0.05)
