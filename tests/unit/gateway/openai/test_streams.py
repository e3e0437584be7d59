"""Chunks and log-probs, made of an engine's tokens."""

from hone.api import trajectory_pb2
from services.gateway.openai.answers import Head, Sample, ScoredTokens, completion_logprobs, extension
from services.gateway.openai.streams import ChatChunks, usage_event
from tests.support.text.tokenizers import byte_level

HEAD = Head("chatcmpl_1", 1730000000, "small")
STOP, GOING = trajectory_pb2.FINISH_REASON_STOP, trajectory_pb2.FINISH_REASON_UNSPECIFIED
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}]


def sample(text: str, reason: int = GOING, versions: tuple[tuple[str, int, int], ...] = (("ver_7", 7, 1),)) -> Sample:
    return Sample(0, [5], [-0.1], text, reason, versions)


def test_a_stream_opens_with_the_role_and_ends_with_the_reason() -> None:
    chunks = ChatChunks(HEAD, 0, [], "")
    assert chunks.opening() == {
        "id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1730000000, "model": "small",
        "system_fingerprint": None, "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None, "logprobs": None}]}
    (piece,) = chunks.of(sample("Hi"), None, True)
    assert piece["choices"][0]["delta"] == {"content": "Hi"}
    assert (piece["choices"][0]["token_ids"], piece["system_fingerprint"]) == ([5], "ver_7")
    *_, closing = chunks.of(sample("", STOP), None, False)
    assert (closing["choices"][0]["delta"], closing["choices"][0]["finish_reason"]) == ({}, "stop")
    assert '"choices":[]' in usage_event(HEAD, "chat.completion.chunk", 2, 1)


def test_a_tool_call_arrives_in_pieces() -> None:
    chunks = ChatChunks(HEAD, 0, TOOLS, "")
    arguments = '{"x": "' + "y" * 100 + '"}'
    assert chunks.of(sample('<tool_call>{"name": "add", "argu'), None, False) == []
    first, *pieces, closing = chunks.of(sample(f'ments": {arguments}}}</tool_call>', STOP), None, False)
    (opened,) = first["choices"][0]["delta"]["tool_calls"]
    assert (opened["index"], opened["type"], opened["function"]) == (0, "function", {"name": "add", "arguments": ""})
    assert opened["id"].startswith("call_")
    assert len(pieces) == 2, "of 64 characters"
    called = [piece["choices"][0]["delta"]["tool_calls"][0]["function"] for piece in pieces]
    assert "".join(function["arguments"] for function in called) == arguments
    assert closing["choices"][0]["finish_reason"] == "tool_calls"


def test_the_pieces_of_a_call_come_as_they_are_written() -> None:
    chunks = ChatChunks(HEAD, 0, TOOLS, '<tool_call>\n{"name": "add", "arguments": ')
    said = [[delta for chunk in chunks.of(sample(text, reason), None, False)
             for delta in chunk["choices"][0]["delta"].get("tool_calls", [])]
            for text, reason in (('{"x"', GOING), (': {"}": 1', GOING), ("}}", GOING), ("}", STOP))]
    assert [len(deltas) for deltas in said] == [2, 1, 1, 0]
    assert said[0][0]["function"]["name"] == "add"
    assert "".join(one["function"]["arguments"] for deltas in said for one in deltas) == '{"x": {"}": 1}}'


def test_versions_are_one_number_or_one_for_each_token() -> None:
    assert extension(sample("a"), False) == {"policy_version": 7}
    switched = Sample(0, [5, 6, 7], [-1, -1, -1], "abc", STOP, [("ver_7", 7, 2), ("ver_8", 8, 1)])
    assert extension(switched, True) == {"policy_version": 8, "policy_versions": [7, 7, 8], "token_ids": [5, 6, 7]}
    assert switched.fingerprint == "ver_8"


def test_log_probs_of_completions_have_the_places_of_their_tokens() -> None:
    text = byte_level()
    ids = text.encode("aé")
    found = completion_logprobs(text, ScoredTokens(ids, [None, -1.0, -2.0], [None, [(ids[0], -0.5)], []]), [], 1, 10)
    assert found == {
        "tokens": ["a", "bytes:\\xc3", "bytes:\\xa9"], "token_logprobs": [None, -1.0, -2.0],
        "text_offset": [10, 11, 12], "top_logprobs": [None, {"a": -0.5}, {}]}
