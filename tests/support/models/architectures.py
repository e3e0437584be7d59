"""The configuration of a toy model."""

import json
from typing import Any

from hone.models import toy

TOY: dict[str, Any] = json.loads(toy.files()["config.json"])
