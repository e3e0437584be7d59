"""What asking a model over REST adds to asking its engine, and what 16 chatting clients cost a training run.

    python -m benchmarks.asking [--repetitions N] [--steps N] [--out FILE]

*calls*: one request at a time, over REST as OpenAI's clients send them and over gRPC at the engine, in turn, with equal
prompts, seeds and ends: whole answers, and streams up to the first token. *streams*: 64 at once, each with one answer
after another. *beside*: the toy's step alone, and beside 16 clients that ask its base, or the run itself, all the time.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

from benchmarks import stack_run
from benchmarks.fairness import spec
from benchmarks.machine import provenance
from benchmarks.results import RESULTS, store
from hone.api.inference_pb2 import GenerateRequest, GenerateStreamRequest, ListVersionsRequest
from hone.api.inference_pb2_grpc import InferenceServiceStub
from hone.api.trajectory_pb2 import NoiseKey, Sampling
from hone.client import Client
from hone.models import toy
from hone.rpc.client import channel
from hone.rpc.tenancy import KEY, TENANT
from hone.stack.embedded import Stack

LENGTHS, STREAMS, ANSWERS, LONGEST, CHATTING = (1, 64), 64, 2, 128, 16
SIZES: dict[str, Any] = {"hidden": 256, "layers": 6, "heads": 4, "kv_heads": 2, "head_dim": 64, "ffn": 1024,
                         "vocab_size": 104, "symbols": toy.TEXT}
"""Of a model of 5.7M random weights, which ends after about a hundred tokens."""
SETTINGS = {"tenant_requests": 256, "chat_tenant_requests": 128, "sweep_s": 0.5}
PATH = "/v1/chat/completions"
Way = Callable[[int, int], Awaitable[Any]]
"""Asks for an answer of up to so many tokens, with a seed."""


class Sides:
    """The same questions over REST and at the engine."""

    def __init__(self, stack: Stack, client: Client, model: str) -> None:
        record, account = stack.record(), client.account()
        self.caller = ((TENANT, account.tenant_id), (KEY, account.key_id))  # as the gateway asks: from outside of runs
        self.model, self._engine, self._token = model, record.addresses["inference-0"], record.stack_token
        headers = {"Authorization": f"Bearer {record.api_key}"}
        self._rest: dict[str, Any] = {"base_url": record.gateway_url, "headers": headers}
        with httpx.Client(**self._rest, timeout=120) as http:
            found = http.post(PATH, json={**self.body(1, 0), "return_token_ids": True}).raise_for_status().json()
            self.prompt: list[int] = found["prompt_token_ids"]
        with stack_run.engine_channel(stack) as opened:
            served = InferenceServiceStub(opened).ListVersions(ListVersionsRequest(), timeout=10)
        [self.model_id] = [one.model_id for one in served.models]

    def body(self, tokens: int, seed: int, stream: bool = False) -> dict[str, Any]:
        """Return a request as OpenAI's clients send it."""
        return {"model": self.model, "messages": [{"role": "user", "content": "What do you think of this?"}],
                "max_tokens": tokens, "seed": seed, "stream": stream, "stream_options": {"include_usage": True}}

    def request(self, tokens: int, seed: int) -> GenerateRequest:
        """Return the same request as the gateway sends it."""
        return GenerateRequest(
            request_id=f"bench-{time.monotonic_ns()}", model_id=self.model_id, prompt_ids=self.prompt, n=1,
            noise=NoiseKey(seed=seed, request="asked"),
            sampling=Sampling(max_tokens=tokens, temperature=1.0, top_p=1.0, stop_ids=[toy.EOS]))

    @asynccontextmanager
    async def http(self) -> AsyncIterator[httpx.AsyncClient]:
        limits = httpx.Limits(max_connections=STREAMS, max_keepalive_connections=STREAMS)
        async with httpx.AsyncClient(**self._rest, timeout=120, limits=limits) as client:
            yield client

    @asynccontextmanager
    async def stub(self) -> AsyncIterator[Any]:
        opened = channel(self._engine, self._token)
        try:
            yield InferenceServiceStub(opened)
        finally:
            await opened.close(None)


async def calls(sides: Sides, repetitions: int) -> dict[str, Any]:
    """Return the milliseconds of calls on either side, taken in turn."""
    async with sides.http() as http, sides.stub() as stub:
        async def rest(tokens: int, seed: int) -> None:
            (await http.post(PATH, json=sides.body(tokens, seed))).raise_for_status()

        async def engine(tokens: int, seed: int) -> None:
            await stub.Generate(sides.request(tokens, seed), timeout=60, metadata=sides.caller)

        async def rest_first(tokens: int, seed: int) -> None:
            async with http.stream("POST", PATH, json=sides.body(tokens, seed, stream=True)) as response:
                async for line in response.aiter_lines():
                    if '"content":' in line and '"content":""' not in line:
                        return

        async def engine_first(tokens: int, seed: int) -> None:
            call = stub.GenerateStream(GenerateStreamRequest(request=sides.request(tokens, seed)), timeout=60,
                                       metadata=sides.caller)
            async for _ in call:
                break
            call.cancel()

        found = {f"whole, {tokens} tokens": await _in_turn(rest, engine, tokens, repetitions) for tokens in LENGTHS}
        return found | {"to the first token": await _in_turn(rest_first, engine_first, LONGEST, repetitions)}


async def _in_turn(rest: Way, engine: Way, tokens: int, repetitions: int) -> dict[str, Any]:
    taken: dict[str, list[float]] = {"rest": [], "engine": []}
    for seed in range(repetitions):
        for name, ask in (("engine", engine), ("rest", rest)):
            began = time.perf_counter()
            await ask(tokens, seed)
            taken[name].append(1000 * (time.perf_counter() - began))
    added = [rest - engine for rest, engine in zip(taken["rest"], taken["engine"], strict=True)]
    return {**{name: _quantiles(values) for name, values in (*taken.items(), ("added", added))}, "raw": taken}


async def streams(sides: Sides) -> dict[str, Any]:
    """Return tokens a second of 64 streams at once on either side, in turn, three times."""
    async with sides.http() as http, sides.stub() as stub:
        async def rest(tokens: int, seed: int) -> int:
            made = 0
            async with http.stream("POST", PATH, json=sides.body(tokens, seed, stream=True)) as response:
                async for line in response.aiter_lines():
                    if '"usage":' in line:
                        made = json.loads(line.removeprefix("data: "))["usage"]["completion_tokens"]
            return made

        async def engine(tokens: int, seed: int) -> int:
            call = stub.GenerateStream(GenerateStreamRequest(request=sides.request(tokens, seed)), timeout=120,
                                       metadata=sides.caller)
            return sum([len(answer.delta.ids) async for answer in call])

        raw: dict[str, list[float]] = {"rest": [], "engine": []}
        for _ in range(3):
            for name, ask in (("engine", engine), ("rest", rest)):
                raw[name].append(await _rate(ask))
    medians = {name: statistics.median(values) for name, values in raw.items()}
    return {**medians, "ratio": medians["rest"] / medians["engine"], "raw": raw}


async def _rate(ask: Way) -> float:
    async def one(stream: int) -> int:
        return sum([await ask(LONGEST, 1000 * stream + number) for number in range(ANSWERS)])

    began = time.perf_counter()
    made = sum(await asyncio.gather(*map(one, range(STREAMS))))
    return made / (time.perf_counter() - began)


async def beside(stack: Stack, client: Client, steps: int) -> dict[str, Any]:
    """Return the seconds of a toy step alone, and beside clients that chat, with the tokens a second that they get."""
    sides: dict[str, Any] = {}
    assert list(client.chat("toy", [{"role": "user", "content": "1"}], max_tokens=1)), "the base is loaded"
    for name, model in (("alone", ""), ("asking its base", "toy"), ("asking the run", "{}@latest")):
        run = client.create_run(spec(f"beside {len(sides)}", steps, 16, batch={"prompts": 16, "samples": 8}))
        chatting = asyncio.create_task(_chatting(stack, model.format(run.id))) if model else None
        await asyncio.to_thread(stack_run.wait_for_end, client, run.id, 0.5)
        rate = 0.0
        if chatting is not None:
            chatting.cancel()
            rate = await chatting  # how many it got; an error of a client ends the measurement
        commits = stack_run.commit_times(client, run.id)
        taken = [(after - before).total_seconds() for before, after in pairwise(commits)][2:]
        sides[name] = {"step_s": statistics.median(taken), "tokens_a_second": rate, "raw": taken}
    return {name: {**one, "ratio": one["step_s"] / sides["alone"]["step_s"]} for name, one in sides.items()}


async def _chatting(stack: Stack, model: str) -> float:
    """Have clients ask without a pause until cancelled. Returns the tokens a second that they got."""
    record, made, began = stack.record(), [0], time.perf_counter()
    headers = {"Authorization": f"Bearer {record.api_key}"}

    async def ask(http: httpx.AsyncClient) -> None:
        while True:
            body = {"model": model, "messages": [{"role": "user", "content": "1 2 3"}], "max_tokens": 100}
            answer = await http.post(PATH, json=body)
            if answer.is_success:
                made[0] += answer.json()["usage"]["completion_tokens"]
            else:  # the run has no version yet
                await asyncio.sleep(0.2)

    try:
        async with httpx.AsyncClient(base_url=record.gateway_url, headers=headers, timeout=120) as http:
            await asyncio.gather(*(ask(http) for _ in range(CHATTING)))
    except asyncio.CancelledError:
        return made[0] / (time.perf_counter() - began)
    raise AssertionError("clients chat until they are cancelled")


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return {"p50": cuts[49], "p99": cuts[98]}


def main() -> None:
    """Measure and write one JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--out", type=Path, default=RESULTS / "asking.json")
    args = parser.parse_args()
    result: dict[str, Any] = provenance()
    with stack_run.scratch() as scratch, stack_run.embedded(scratch / "state", SETTINGS, {}) as (stack, client):
        client.upload_model("larger", toy.write(scratch / "larger", 0, **SIZES))
        sides = Sides(stack, client, "larger")
        result["calls"] = asyncio.run(calls(sides, args.repetitions))
        result["streams"] = asyncio.run(streams(sides))
        client.upload_model("toy", toy.write(scratch / "toy"))
        result["beside"] = asyncio.run(beside(stack, client, args.steps))
    store(args.out, result)


if __name__ == "__main__":
    main()
