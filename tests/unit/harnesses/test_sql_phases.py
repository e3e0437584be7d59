"""The four actions: what a turn does, what is malformed, and scripted agents that play whole questions."""

import json
from collections.abc import Callable, Iterator

import pytest

from hone.environments.sql_exploration import SqlEpisode, SqlExploration, SqlExplorationParams
from hone.environments.sql_reading import tables
from hone.environments.statements import scripted
from hone.graders import sample
from hone.graders.judgement import judged_together
from hone.graders.specs import spec
from hone.harnesses.seat import Act, Answer, Ask, Finished, Heard, Seat, Taken, advanced
from hone.harnesses.sql_phases import Malformed, SqlPhases, SqlPhasesParams, help_message, read

TAGGED, LINE = SqlPhasesParams(), SqlPhasesParams(syntax="line")
THOUGHT = "<think>so</think>"
CALL = '<tool_call>{"name": "execute_sql_query", "arguments": {"sql": "SELECT 1"}}</tool_call>'
SCHEMA = '<schema>{"tables": ["t"], "columns": {"t": ["a"]}}</schema>'
ANSWER = "<answer>SELECT 1</answer>"


def turn(action: str, payload: str, thought: str = THOUGHT) -> str:
    return f"{thought}<action>{action}</action>{payload}"


@pytest.mark.parametrize(("text", "tool", "arguments"), [
    (turn("explore_schema", CALL), "explore_schema", {"sql": "SELECT 1"}),
    (turn("generate_sql", f"\n{CALL}\n"), "generate_sql", {"sql": "SELECT 1"}),
    (turn("generate_sql", CALL.replace('{"sql"', '{"db_id": "d", "sql"')), "generate_sql", {"sql": "SELECT 1"}),
    (turn("propose_schema", SCHEMA), "propose_schema", {"tables": ["t"], "columns": {"t": ["a"]}}),
    (turn("confirm_answer", ANSWER), "confirm_answer", {"sql": "SELECT 1"}),
    (turn("confirm_answer", "<answer>\n```sql\nSELECT 1\n```\n</answer>"), "confirm_answer", {"sql": "SELECT 1"}),
    (turn("confirm_answer", CALL + ANSWER), "confirm_answer", {"sql": "SELECT 1"}),
    (turn("propose_schema", CALL + SCHEMA), "propose_schema", {"tables": ["t"], "columns": {"t": ["a"]}}),
])
def test_a_turn_is_one_action_with_its_payload(text: str, tool: str, arguments: object) -> None:
    phase = read(TAGGED, text)
    assert (phase.call.tool, phase.call.arguments, phase.fault) == (tool, arguments, "")


@pytest.mark.parametrize(("text", "words"), [
    (turn("explore_schema", CALL) + "<action>generate_sql</action>", "found 2 tags <action>"),
    (f"{THOUGHT}{CALL}", "found 0 tags <action>"),
    (turn("explore_schema", ""), "found no <tool_call>"),
    (turn("confirm_answer", "<answer> </answer>"), "found no <answer>"),
    (turn("propose_schema", CALL), "found no <schema>"),
    (turn("propose_schema", '<schema>{"tables": [</schema>'), "no JSON"),
    (turn("propose_schema", "<schema>[1]</schema>"), "no JSON object"),
    (turn("generate_sql", '<tool_call>{"name": "execute_sql_query", </tool_call>'), "no single call"),
    (turn("generate_sql", CALL * 2), "no single call"),
    (turn("generate_sql", CALL.replace("execute_sql_query", "query")), "no single call"),
    (turn("drop_table", CALL), "found the action 'drop_table'"),
    (f"<think>{turn('explore_schema', CALL, '')}", "the reasoning never ends"),
    ("", "found 0 tags <action>"),
])
def test_a_turn_that_cannot_be_read_says_why(text: str, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        read(TAGGED, text)


@pytest.mark.parametrize(("text", "tool", "words"), [
    (turn("explore_schema", CALL, ""), "explore_schema", "found 0 beginnings and 0 ends"),
    (turn("explore_schema", CALL, THOUGHT * 2), "explore_schema", "found 2 beginnings and 2 ends"),
    (turn("generate_sql", CALL + ANSWER), "confirm_answer", "found the payload of confirm_answer"),
])
def test_a_turn_that_breaks_the_format_is_carried_out_with_its_fault(text: str, tool: str, words: str) -> None:
    phase = read(TAGGED, text)
    assert (phase.call.tool, words in phase.fault) == (tool, True)


@pytest.mark.parametrize(("text", "tool"), [
    ("explore_schema: PRAGMA table_info(t)", "explore_schema"),
    ("I see.\nconfirm_answer: SELECT 1\n", "confirm_answer"),
    ('propose_schema: {"tables": [], "columns": {}}', "propose_schema")])
def test_a_line_is_an_action(text: str, tool: str) -> None:
    assert read(LINE, text).call.tool == tool


@pytest.mark.parametrize("text", [
    "SELECT 1", "generate_sql:", "propose_schema: {", "generate_sql: SELECT 1\nconfirm_answer: SELECT 1"])
def test_a_line_that_is_no_single_action_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        read(LINE, text)


Agent = Callable[[SqlEpisode], Iterator[str]]
GRADER = spec('{"type": "sql_phases", "score": "reward"}')


def played(
    episode: SqlEpisode, texts: Iterator[str], params: SqlPhasesParams = TAGGED
) -> tuple[Seat, dict[str, float]]:
    """Play one question with these turns and grade it; return the seat and the rewards."""
    opening = episode.reset()
    seat = Seat(opening.messages, opening.tools or [], Heard(opening.messages), "", params.max_turns)
    play, item = SqlPhases().play(seat, params), opening.item
    said, steps = list[Answer](), list[sample.Taken]()
    result: Answer | Taken | None = None
    while not isinstance(effect := advanced(play, result), Finished):
        if isinstance(effect, Ask):
            result = Answer(effect.number, next(texts))
            said.append(result)
            continue
        assert isinstance(effect, Act)
        taken = episode.step(effect.action)
        messages, item = taken.observation.messages, taken.observation.item
        steps.append(sample.Taken(call=said[-1].number, action=effect.action, said=messages, valid=taken.valid))
        result = Taken(Heard(messages, valid=taken.valid), taken.done)
    calls = [sample.Spoken(number=one.number, text=one.text, notes=seat.notes.get(one.number, {})) for one in said]
    [grade] = judged_together(GRADER, [
        sample.Sample(item, "", conversation=sample.Conversation(calls=calls, steps=steps))])
    assert grade.score == pytest.approx(grade.components["exec"] + grade.components["fmt"])
    return seat, dict(grade.components)


def query(action: str, sql: str) -> str:
    call = json.dumps({"name": "execute_sql_query", "arguments": {"sql": sql}})
    return turn(action, f"<tool_call>{call}</tool_call>")


def proposal(schema: object) -> str:
    return turn("propose_schema", f"<schema>{json.dumps(schema)}</schema>")


def oracle(episode: SqlEpisode) -> Iterator[str]:
    """Look at the tables that are needed, propose them, try the gold query and confirm it."""
    item = episode.reset().item
    for table in item["schema"]["tables"]:
        yield query("explore_schema", f"PRAGMA table_info({table})")
    yield proposal(item["schema"])
    yield query("generate_sql", item["gold"])
    yield turn("confirm_answer", f"<answer>{item['gold']}</answer>")


def dumping(episode: SqlEpisode) -> Iterator[str]:
    """The oracle, but for its proposal: it is all of the database."""
    item = episode.reset().item
    yield query("explore_schema", "SELECT sql FROM sqlite_master")
    yield proposal({"tables": [*item["schema"]["tables"], "more"], "columns": {
        **item["schema"]["columns"], "more": ["id", "name"]}})
    yield query("generate_sql", item["gold"])
    yield turn("confirm_answer", f"<answer>{item['gold']}</answer>")


def inventing(episode: SqlEpisode) -> Iterator[str]:
    """Query a column that there is not."""
    table = episode.reset().item["schema"]["tables"][0]
    sql = f"SELECT invented FROM {table}"
    yield query("explore_schema", "SELECT name FROM sqlite_master")
    yield proposal({"tables": [table], "columns": {table: ["invented"]}})
    yield query("generate_sql", sql)
    yield turn("confirm_answer", f"<answer>{sql}</answer>")


@pytest.mark.parametrize(("agent", "full", "schema"), [(oracle, 1.1, 1.0), (dumping, 1.1, 0.0), (inventing, 0.1, 0.0)])
def test_scripted_agents_are_ranked_over_200_questions_about_20_databases(
        agent: Agent, full: float, schema: float) -> None:
    for seed in range(200):
        episode = SqlExploration().episode(SqlExplorationParams(), seed, None)
        _, rewards = played(episode, agent(episode))
        assert rewards["exec"] + rewards["fmt"] == pytest.approx(full), seed
        assert rewards["schema"] == schema, seed


def test_turns_that_proposed_and_explored_are_marked() -> None:
    episode = SqlExploration().episode(SqlExplorationParams(), 3, None)
    texts = ["what?", query("explore_schema", "SELECT name FROM sqlite_master"), proposal({"tables": "t"}),
             proposal({"tables": [], "columns": {}}), turn("confirm_answer", ANSWER)]
    seat, rewards = played(episode, iter(texts))
    assert seat.marks == {"1": ["explore"], "3": ["schema"]}
    assert list(seat.notes) == ["0"]
    assert rewards == {"exec": 0.2, "fmt": 0.0, "schema": 0.0}


@pytest.mark.parametrize("broken", [
    turn("explore_schema", CALL) + "<action>generate_sql</action>", turn("explore_schema", ""),
    turn("propose_schema", '<schema>{"tables": [</schema>'), turn("drop_table", CALL), query("generate_sql", "SELEC"),
    query("generate_sql", "SELECT count( FROM sqlite_master"), turn("explore_schema", CALL, "")])
def test_one_malformed_turn_costs_the_format_reward_and_no_more(broken: str) -> None:
    episode = SqlExploration().episode(SqlExplorationParams(), 3, None)
    _, rewards = played(episode, iter([broken, *oracle(episode)]))
    assert rewards == {"exec": 1.0, "fmt": 0.0, "schema": 1.0}


def test_a_turn_that_cannot_be_read_is_answered_with_the_four_formats() -> None:
    heard = list[str]()
    episode = SqlExploration().episode(SqlExplorationParams(), 3, None)
    opening = episode.reset()
    play = SqlPhases().play(Seat(opening.messages, [], Heard(opening.messages), "", 2), TAGGED)
    assert isinstance(advanced(play), Ask)
    effect = advanced(play, Answer("0", "SELECT 1"))
    assert isinstance(effect, Ask)
    assert isinstance(effect.said, Heard)
    heard = [message["content"] for message in effect.said.messages]
    assert heard == [help_message(TAGGED)]
    assert all(action in heard[0] for action in ("explore_schema", "propose_schema", "generate_sql", "confirm_answer"))
    assert isinstance(advanced(play, Answer("1", "SELECT 1")), Finished), "an unreadable turn is a turn"


def test_an_agent_that_never_confirms_ends_after_ten_turns_with_nothing() -> None:
    episode = SqlExploration().episode(SqlExplorationParams(), 3, None)
    seat, rewards = played(episode, iter([query("explore_schema", "SELECT name FROM sqlite_master")] * 20))
    assert (seat.turns, rewards) == (10, {"exec": 0.0, "fmt": 0.0, "schema": 0.0})


def test_a_database_has_as_many_tables_as_asked() -> None:
    params = SqlExplorationParams(min_tables=300, max_tables=300, rows=2)
    script = SqlExploration().content(params, 1, None)
    episode = SqlExploration().episode(params, 1, None)
    assert len(tables(scripted(episode._asked.script))) == 300
    assert "CREATE" not in json.dumps(script), "the content names the database, and does not hold it"
    _, rewards = played(episode, oracle(episode))
    assert rewards == {"exec": 1.0, "fmt": 0.1, "schema": 1.0}
