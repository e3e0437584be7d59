"""Whether the tools of a source can keep nothing from one call to the next but in names of their own.

Such tools can be called one after another in one process, each call with the source executed anew in fresh names. The
check reads the syntax tree, and refuses whatever it does not know: what is refused is called in a process of its own.

A call could leave something for the next only in an object that both reach: a module, an attribute of a class or of
a function of the interpreter, a stream, a file. So modules are named only to take one of the functions below, no
attribute is set, attributes that are read are those of values (`str`, `dict`, …), and of the interpreter's own names
those are used that give nothing else.

Standard library only: the sandbox runs this file, because a source may be hard to parse, too.
"""

import ast
import builtins
import datetime
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping, Set

_OFFERED = """
__future__: annotations
bisect: bisect bisect_left bisect_right insort insort_left insort_right
collections: Counter OrderedDict defaultdict deque
copy: copy deepcopy
datetime: UTC date datetime time timedelta timezone
functools: cmp_to_key partial reduce
heapq: heapify heappop heappush heappushpop heapreplace nlargest nsmallest
itertools: accumulate chain combinations count cycle groupby islice permutations product repeat starmap zip_longest
json: dumps loads
math: ceil comb copysign cos dist e exp fabs factorial floor fmod fsum gcd hypot inf isclose isfinite isinf isnan isqrt
math: lcm log log10 log2 modf nan pi pow prod radians sin sqrt tan trunc
re: A ASCII DOTALL I IGNORECASE M MULTILINE compile escape findall finditer fullmatch match search split sub
string: ascii_letters ascii_lowercase ascii_uppercase digits hexdigits punctuation whitespace
typing: Any Callable Iterable Iterator Literal Mapping Optional Sequence Union
"""
MODULES: dict[str, frozenset[str]] = {}
for _line in _OFFERED.strip().splitlines():
    _module, _, _names = _line.partition(": ")
    MODULES[_module] = MODULES.get(_module, frozenset()) | frozenset(_names.split())
"""Allowed imports by module: nothing that keeps a state, and no other module."""
_VALUES = (str, bytes, int, float, complex, bool, list, tuple, dict, set, frozenset, range, slice, bytearray,
           re.Pattern, re.Match, datetime.datetime, datetime.timedelta, datetime.timezone,
           Counter, OrderedDict, defaultdict, deque)
_READ = {name for kind in _VALUES for name in dir(kind) if not name.startswith("_")} | {"now", "new_id", "args"}
"""Attributes of values, of `db` and of errors."""
_FUNCTIONS = """
Ellipsis NotImplemented abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter
float format frozenset hex int isinstance issubclass iter len list map max min next oct ord pow print range repr
reversed round set slice sorted str sum tuple zip
"""
_TAKEN = frozenset(_FUNCTIONS.split()) | {
    name for name, found in vars(builtins).items() if isinstance(found, type) and issubclass(found, BaseException)}
_OTHERS = set(dir(builtins)) - _TAKEN
_GIVEN = {"Rejected"}
_REFUSED = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await, ast.MatchClass)


def keeps_nothing(source: str) -> bool:
    """Return whether calls of a source's tools can share a process, each in fresh names. A doubt is a no."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = list(ast.walk(tree))
    modules = {alias.asname or alias.name: alias.name for node in nodes if isinstance(node, ast.Import)
               for alias in node.names}
    own = [name for node in nodes for name in _bound(node)]
    if set(modules) & set(own) or any(_is_reserved(name) for name in (*own, *modules)):
        return False
    as_owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    known = _TAKEN | _GIVEN | set(own)
    return all(_is_plain(node, modules, known, id(node) in as_owners) for node in nodes)


def _is_plain(node: ast.AST, modules: Mapping[str, str], known: Set[str], as_owner: bool) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name in MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        offered = MODULES.get(node.module or "", frozenset()) if not node.level else frozenset[str]()
        return all(alias.name in offered for alias in node.names)
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and node.attr in _offered(node, modules)
    if isinstance(node, ast.Name):
        return as_owner if node.id in modules else node.id in known
    return not isinstance(node, _REFUSED)


def _offered(node: ast.Attribute, modules: Mapping[str, str]) -> Set[str]:
    """Return the names that may be taken of what stands before the dot."""
    if isinstance(node.value, ast.Name) and node.value.id in modules:
        return MODULES.get(modules[node.value.id], frozenset())
    return _READ


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, but modules."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _is_reserved(name: str) -> bool:
    """Return whether a name is one of the interpreter's that is not to be used, or one of those that call tools."""
    return name in _OTHERS or name.startswith(("__", "_hone")) or name in ("_json", "_Db")
