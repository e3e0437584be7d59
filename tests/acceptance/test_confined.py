"""A template that loops fails its own run with the reason; a run beside it trains as if it were alone."""

import shutil
from collections.abc import Callable
from pathlib import Path

from tests.acceptance import toy
from tests.acceptance.scene import Scene, wait_for

STEPS = 4
LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = b %}{% endfor %}{% endfor %}"
TEMPLATE = ("{% for one in messages %}{{ one.content }}{% endfor %}"
            "{% if '=' in messages[-1].content %}" + LOOPS + "{% endif %}")


def test_a_template_that_loops_on_a_runs_prompts_fails_that_run_alone(
        plain: Scene, bases: Callable[..., Path], tmp_path: Path) -> None:
    good = bases(steps=40, careless=0.5)
    shutil.copytree(good, tmp_path / "trap")
    (tmp_path / "trap" / "chat_template.jinja").write_text(TEMPLATE)
    plain.client.upload_model("confined-base", good)
    plain.client.upload_model("confined-trap", tmp_path / "trap")
    trapped = plain.client.create_run(toy.spec("trapped", "confined-trap", STEPS, eval=None))
    beside = plain.client.create_run(toy.spec("beside", "confined-base", STEPS, eval=None))
    plain.finished(beside.id, timeout_s=120)
    ended = wait_for("the end of the trapped run", lambda: plain.ended(trapped.id), 120)
    assert ended.state == "failed"
    assert "chat_template: it did not finish within 5 s on a conversation of" in str(ended.reason)
