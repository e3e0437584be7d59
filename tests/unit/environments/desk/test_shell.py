"""The desk's shell: pipelines over the files of a desk, what they change, and what they refuse."""

import json

import pytest

from hone.environments.desk.episode import DeskEpisode
from hone.environments.desk.generation import task
from hone.environments.desk.people_tools import tools
from hone.environments.desk.scenery import DeskScene, Variant, call
from hone.environments.desk.store import DeskStore
from hone.environments.tools import ToolCall, ToolError, use


@pytest.fixture
def store() -> DeskStore:
    scene = DeskScene("test", 0, Variant(distractors=0))
    scene.file("/in/a.txt", "Invoice 7\nDue: 3 May")
    scene.file("/in/b.txt", "Offer 9\nDue: 1 May\n")
    scene.file("/in/old/c.tmp", "Invoice 8")
    scene.file("/in/locked.txt", "x", locked=True)
    return DeskStore(scene.finished(), "2026-01-12T07:00:00Z", "Europe/Berlin", "me@x.example")


def shell(store: DeskStore, line: str) -> str:
    return use(tools(store, with_shell=True), ToolCall("shell", {"line": line}))


@pytest.mark.parametrize(("line", "printed"), [
    ("ls /in", "a.txt\nb.txt\nlocked.txt\nold/\n"), ("ls in/*.txt", "/in/a.txt\n/in/b.txt\n/in/locked.txt\n"),
    ("find /in -name '*.tmp'", "/in/old/c.tmp\n"),
    ("cat /in/a.txt /in/b.txt | grep Due | sort", "Due: 1 May\nDue: 3 May\n"),
    ("grep -l Invoice /in/*.txt", "/in/a.txt\n"),
    ("grep -ri invoice /in", "/in/a.txt:Invoice 7\n/in/old/c.tmp:Invoice 8\n"), ("grep -c Due /in/a.txt", "1\n"),
    ("head -1 /in/a.txt", "Invoice 7\n"), ("tail -n 1 in/a.txt", "Due: 3 May\n"),
    ("grep -vn Due /in/b.txt", "1:Offer 9\n"),
    ("cat /in/*.txt | wc -l", "5\n"), ("echo b a b | uniq -c", "1 b a b\n"), ("mkdir -p /new", "")])
def test_lines_print_what_a_shell_prints(store: DeskStore, line: str, printed: str) -> None:
    before = store.state
    assert shell(store, line) == printed
    assert store.state == before


def test_files_are_moved_copied_removed_and_written(store: DeskStore) -> None:
    shell(store, "mv /in/a.txt /in/b.txt /done/")
    shell(store, "cp /done/a.txt /copy.txt")
    shell(store, "rm -f /in/old/c.tmp")
    shell(store, "grep Due /done/*.txt | sort > '/due dates.txt'")
    shell(store, "echo end >> '/due dates.txt'")
    files = store.objects("files")
    assert sorted(files) == ["/copy.txt", "/done/a.txt", "/done/b.txt", "/due dates.txt", "/in/locked.txt"]
    assert files["/due dates.txt"]["text"] == "/done/a.txt:Due: 3 May\n/done/b.txt:Due: 1 May\nend\n"


@pytest.mark.parametrize(("line", "fault", "message"), [
    ("rm /in/locked.txt", "refused", "no permission"), ("mv /in/a.txt /in/b.txt", "refused", "already"),
    ("cat /etc/passwd", "refused", "there is no /etc/passwd"), ("curl x", "refused", "no such command"),
    ("ls; rm /in/a.txt", "wrong_arguments", "found ;"), ("cat < /in/a.txt", "wrong_arguments", "found <"),
    ("cat 'x", "wrong_arguments", "' is not closed"), ('cat "x', "wrong_arguments", '" is not closed'),
    ("cat x\\", "wrong_arguments", "cannot be read"), ("ls && rm /in/a.txt", "wrong_arguments", "found &&"),
    ("ls /in\nrm /in/a.txt", "wrong_arguments", "found a new line"), ("(ls)", "wrong_arguments", r"found \("),
    ("rm /in/a.txt 2>/x", "wrong_arguments", "found 2>"), ("ls # all", "wrong_arguments", "found #"),
    ("echo $(ls) > /in/a.txt", "wrong_arguments", "no commands inside"), ("echo `ls`", "wrong_arguments", "found `"),
    ('rm "$FILE"', "wrong_arguments", "no variables"), ("cat /in/{a,b}.txt", "wrong_arguments", "braces"),
    ("echo a > ~/b", "wrong_arguments", "no home"), ("echo a > /in/*.txt", "wrong_arguments", "expected one file"),
    ("rm ''", "refused", "there is no /"), ("ls in/*.tmp", "refused", r"no directory in/\*.tmp"),
    ("ls |", "wrong_arguments", "missing"),
    ("wc -x", "wrong_arguments", "no option x"),
    ("mv /in/a.txt /in/b.txt /c", "wrong_arguments", "directory"), (f"cat /{'x' * 400}", "refused", "at most 300"),
    (f"echo {'x' * 1900} > /in", "refused", "is a directory")])
def test_a_wrong_line_is_an_error_of_the_tool(store: DeskStore, line: str, fault: str, message: str) -> None:
    with pytest.raises(ToolError, match=message) as refused:
        shell(store, line)
    assert refused.value.fault == fault
    assert "/in/a.txt" in store.objects("files")


@pytest.mark.parametrize(("line", "printed"), [
    ("echo '|' '>' /in/a.txt", "| > /in/a.txt\n"), ("echo a \\> /in/a.txt", "a > /in/a.txt\n"),
    ("echo '$5 `x` {a,b} ~ # \\'", "$5 `x` {a,b} ~ # \\\n"), ('echo "a\\"b \\$c" it\\\'s', "a\"b $c it's\n"),
    ("echo ''x'' \"\" y", "x  y\n"), ("echo 3 $ 5", "3 $ 5\n"), ("echo 'ü 漢' 🙂", "ü 漢 🙂\n"),
    ("echo '*' /in/? /in/[ab].txt in/*/*", "* /in/? /in/a.txt /in/b.txt in/old/c.tmp\n"),
    ("echo /in/'*'.txt \"/in/?.txt\"", "/in/*.txt /in/?.txt\n"),
    ("grep '|' /in/a.txt", ""), ("find / -name \\*.tmp|wc -l", "1\n")])
def test_what_is_quoted_stands_for_itself(store: DeskStore, line: str, printed: str) -> None:
    before = store.state
    assert shell(store, line) == printed
    assert store.state == before


def test_a_quoted_star_names_one_file(store: DeskStore) -> None:
    shell(store, "echo 1 > '/in/*.txt'")
    shell(store, "rm '/in/*.txt'")
    assert sorted(store.objects("files")) == ["/in/a.txt", "/in/b.txt", "/in/locked.txt", "/in/old/c.tmp"]


def test_texts_do_not_grow_without_end(store: DeskStore) -> None:
    for _ in range(9):
        shell(store, "cat /in/a.txt /in/a.txt > /in/a.txt")
    with pytest.raises(ToolError, match="at most 20000"):
        shell(store, "cat /in/a.txt /in/a.txt /in/a.txt /in/a.txt > /in/a.txt")


def test_a_task_is_done_by_lines_of_the_shell() -> None:
    one = task("clean", 2)
    paths = [json.loads(action)["arguments"]["path"] for action in one.scripts.perfect]
    episode = DeskEpisode(one, 9, shell=True)
    seen = episode.reset()
    assert seen.tools is not None
    assert seen.tools[-1]["function"]["name"] == "shell"
    episode.step(call("shell", line="rm " + " ".join(f"'{path}'" for path in paths)))
    assert episode.fork().verify() == 1.0
