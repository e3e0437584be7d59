"""Paths of the REST surface, from names that anybody may have chosen."""

from urllib.parse import quote

from hone.client.errors import NotFound


def place(*segments: object) -> str:
    """Return /v1/… of these segments, each one whole: what it holds leads nowhere else.

    Raises NotFound for a segment that is empty, "." or "..": nothing has such a name.
    """
    names = [str(segment) for segment in segments]
    for name in names:
        if name in ("", ".", ".."):
            raise NotFound({"status": 404, "title": "Not found", "detail": f"There is nothing of the name {name!r}."})
    return "/".join(["/v1", *(quote(name, safe="") for name in names)])
