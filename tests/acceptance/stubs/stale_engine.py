"""The inference service with publishing disabled: it reports new versions as loaded and keeps its first weights."""

from services.inference import __main__ as inference
from services.inference.native.engine import Engine, Version


def _only_say_so(engine: Engine, version: Version) -> None:
    engine.version_id = version.id


Engine.apply = _only_say_so  # type: ignore[method-assign, assignment]

if __name__ == "__main__":
    inference.main()
