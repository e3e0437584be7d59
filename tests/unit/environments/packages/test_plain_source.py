"""Sources whose calls may share a process are told from those that could leave something for the next call."""

import pytest

from hone.environments.packages.plain_source import keeps_nothing
from hone.environments.synthesis.domain import Blueprint
from hone.environments.synthesis.hints import theme_of
from hone.environments.synthesis.tester import source_text
from hone.environments.synthesis.themes import THEMES
from tests.unit.environments.packages.shop import SOURCE


@pytest.mark.parametrize("source", [
    SOURCE,
    "seen = []\ndef f(db):\n    global last\n    seen.append(db.now)\n    last = len(seen)\n    return last",
    "import json, math as m\nfrom datetime import datetime\n"
    "def f(db, x: int = 1):\n    return json.dumps(m.floor(x)), datetime.fromisoformat(db.now).isoformat()",
    "def f(db):\n    try:\n        return {k: v for k, v in db['a'].items()}\n"
    "    except KeyError as e:\n        raise Rejected(f'{e.args}')",
    "def f(db, x):\n    match x:\n        case {'a': y, **rest}:\n            return y\n    return db.new_id('x')",
])
def test_sources_that_keep_nothing(source: str) -> None:
    assert keeps_nothing(source)


@pytest.mark.parametrize("source", [
    "import random\ndef f(db):\n    return random.random()", "import os.path", "from . import x", "from json import *",
    "from json import codecs", "import json\njson.dumps = 1", "import json\nmodule = json", "import json\njson.codecs",
    "import json\ndef f(db, m=json):\n    return m", "import json\ndel json", "import json as len\nlen.dumps.x",
    "import string\nstring.Formatter", "def f(db):\n    db.now = 1", "class A:\n    def m(self):\n        self.x = 1",
    "def f(db):\n    return ().__class__", "def f(db):\n    return (x for x in db).gi_frame",
    "def f(e):\n    match e:\n        case int(gi_frame=frame):\n            return frame",
    "def f(db):\n    return getattr(db, 'x')", "def f(db):\n    return type(db)", "def f(db):\n    return open('x')",
    "def f(db, open):\n    pass\ndef g(db):\n    return open('x')", "if 0:\n    _json = 1\nx = _json",
    "def _hone_call(a):\n    pass", "class A:\n    def __del__(self):\n        pass", "async def f(db):\n    pass",
    "def f(db):\n    return unknown", "def f(db:", "x\0", "a" + ".b" * 30_000, "-" * 50_000 + "1"])
def test_sources_that_may_keep_something(source: str) -> None:
    assert not keeps_nothing(source)


@pytest.mark.parametrize("domain", [*THEMES, "bee keeping"])
def test_tools_that_are_made_from_hints_keep_nothing(domain: str) -> None:
    drafts = Blueprint(theme_of(domain)).drafts
    assert keeps_nothing(source_text({name: draft.source for name, draft in drafts.items()}))
