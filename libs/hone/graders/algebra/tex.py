r"""Brings mathematical text to one form of TeX: `½` and `\dfrac12` become `\frac{1}{2}`, `１０^６` becomes `10^{6}`.

Every function takes time linear in the length of its text.
"""

import re
import unicodedata

_FULL_WIDTH = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_CHARACTERS = str.maketrans(_FULL_WIDTH | {ord(source): target for source, target in {
    "−": "-", "–": "-", "﹣": "-", "‐": "-", "‑": "-", "×": r"\cdot ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ",
    "✕": r"\cdot ", "∗": r"\cdot ", "÷": "/", "⁄": "/", "∕": "/", "√": r"\sqrt ", "∛": r"\sqrt[3]", "∞": r"\infty ",
    "≤": r"\le ", "≥": r"\ge ", "⩽": r"\le ", "⩾": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "∪": r"\cup ",
    "∩": r"\cap ", "∅": r"\emptyset ", "⌀": r"\emptyset ", "Ø": r"\emptyset ", "∈": r"\in ", "∖": r"\setminus ",
    "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}",
    "°": r"^{\circ}", "º": r"^{\circ}", "±": r"\pm ", "∓": r"\mp ", "∧": r"\land ", "∨": r"\lor ", "′": "'", "’": "'",
    "“": "", "”": "", "⟨": r"\langle ", "⟩": r"\rangle ", "∣": "|", "…": r"\ldots ", "ı": "i", "،": ",", "。": ".",
    "、": ",",
    "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ", "ε": r"\epsilon ", "θ": r"\theta ",
    "λ": r"\lambda ", "μ": r"\mu ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "τ": r"\tau ", "φ": r"\phi ",
    "ω": r"\omega ", "Δ": r"\Delta ", "Ω": r"\Omega ", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ",
    "\u200b": "", "\u2060": "", "\ufeff": "", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ",
}.items()})
_VULGAR = {chr(code): "\\frac{" + unicodedata.normalize("NFKC", chr(code)).replace("⁄", "}{") + "}"
           for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F), 0x2189)}
_SUPERSCRIPT = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]+")
_SUBSCRIPT = re.compile("[₀₁₂₃₄₅₆₇₈₉ₙ]+")
_RAISED, _LOWERED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ", "+-0123456789n"), str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")

_SPELLINGS = {
    "left": "", "right": "", "middle": "", "big": "", "Big": "", "bigg": "", "Bigg": "", "bigl": "", "bigr": "",
    "Bigl": "",
    "Bigr": "", "displaystyle": "", "textstyle": "", "scriptstyle": "", "limits": "", "nolimits": "", "quad": " ",
    "qquad": " ",
    "enspace": " ", "thinspace": " ", "rm": "", "it": "", "bf": "", "dfrac": r"\frac", "tfrac": r"\frac",
    "cfrac": r"\frac",
    "dbinom": r"\binom", "tbinom": r"\binom", "leq": r"\le", "leqslant": r"\le", "leqq": r"\le", "geq": r"\ge",
    "geqslant": r"\ge", "geqq": r"\ge", "lt": "<", "gt": ">", "neq": r"\ne", "times": r"\cdot", "ast": r"\cdot",
    "div": "/",
    "lbrace": r"\{", "rbrace": r"\}", "lbrack": "[", "rbrack": "]", "varnothing": r"\emptyset", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|", "colon": ":", "backslash": r"\setminus", "vee": r"\lor", "wedge": r"\land",
    "infin": r"\infty",
    "degree": r"^{\circ}", "textdegree": r"^{\circ}", "textpercent": r"\%", "simeq": r"\approx", "cong": r"\approx",
    "varepsilon": r"\epsilon", "varphi": r"\phi", "vartheta": r"\theta", "R": r"\mathbb{R}", "reals": r"\mathbb{R}",
    "Longrightarrow": r"\Rightarrow", "implies": r"\Rightarrow", "iff": r"\Leftrightarrow", "dots": r"\ldots",
    "cdots": r"\ldots", "textdollar": r"\dollar", "euro": "€", "pounds": "£", "union": r"\cup", "intersection": r"\cap",
    "bigcup": r"\cup", "newline": " ", "noindent": "", "hfill": " ", "center": "",
}
"""Other names of commands. A name that is followed by nothing is left out."""
_COMMAND = re.compile(r"\\\\|\\([A-Za-z]+)\s*|\\([,;:!> ()\[\]$])")
_FONT = re.compile(r"\\(?:text(?:bf|rm|it|sf|tt|sl|normal)?|math(?:rm|bf|it|sf|tt)|operatorname\*?|mbox|emph|textup"
                   r"|bm|boldsymbol)\s*\{")
_FRAME = re.compile(r"\\(?:boxed|fbox|ensuremath|phantom|underline|hbox)\s*\{")
_FUNCTIONS = "arcsin|arccos|arctan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|exp|gcd|lcm|det|max|min"
_FUNCTION = re.compile(rf"(?<![A-Za-z\\])({_FUNCTIONS})(?=\s*[(\\^_]|\s+[A-Za-z0-9](?![A-Za-z]))")
_NAMED_FUNCTION = re.compile(rf"\\text\{{\s*({_FUNCTIONS})\s*\}}")
_CONNECTIVE = re.compile(r"\\text\{\s*,?\s*(and|or)\s*\}|(?<![A-Za-z\\])(and|or)(?![A-Za-z])|(&)")
_EXPONENT = re.compile(r"\^\s*(?:\{\s*(-?\s*[0-9.]+)\s*\}|(-?[0-9]+(?:\.[0-9]+)?)|\(([^(){}]{1,200})\)"
                       r"|(\\circ)(?![A-Za-z])"
                       r"|\{\s*(\\circ)\s*\})")
_EXPONENT_IN_TEXT = re.compile(r"(\\text\{[^{}]*)\^\{(-?[0-9])\}([^{}]*\})")
_COMMAND_IN_TEXT = re.compile(r"\\text\{\s*(\\(?:infty|dollar|pi|%|emptyset)(?![A-Za-z]))\s*\}")
_SUB = re.compile(r"_\s*([0-9]+)")
_SCIENTIFIC = re.compile(r"(?<![A-Za-z0-9.\\])((?>[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)[eE]([-+]?[0-9]+)(?![A-Za-z0-9.])")
_ROOT_WORD = re.compile(r"(?<![A-Za-z\\])sqrt(?![A-Za-z])")
_ROOT = re.compile(r"\\sqrt\s*\(([^()]{1,500})\)")
_WORD_SYMBOLS = re.compile(r"(?<![A-Za-z\\])(infinity|inf|pi|theta|alpha|beta)(?![A-Za-z])")
_GROUPS = re.compile(r"(?<![0-9.,])([0-9]{1,3})(?>((?:\{,\}|,?\\!|\\[, ]|~)[0-9]{3})+)(?![0-9])")
_SPACE_GROUPS = re.compile(r"(?<![0-9.,])(?<![0-9] )[1-9][0-9]{0,2}(?>(?: [0-9]{3})+)(?! ?[0-9/])")
_MIXED = re.compile(r"(?<![0-9.,/])([0-9]+) +([0-9]+)/([0-9]+)(?![0-9/])")
_ARGUMENTS = re.compile(r"\\(?:[dt]?(frac)|sqrt\s*(?:\[[^\]]*\])?)(?![A-Za-z])")
_BARE = re.compile(r"\s*(\\[A-Za-z]+|[^\s{}\\])")
_BRACE = re.compile(r"\\.|([{}])", re.DOTALL)


def normal(text: str) -> str:
    r"""Return the text in one form: commands by one name, `\text{…}` for every font, exponents and arguments in braces.

    `and` and `or` become \land and \lor, a currency's dollar becomes \dollar.
    """
    text = re.sub(r"(?![0-9])\d", lambda match: str(unicodedata.decimal(match[0])), text)
    text = re.sub("|".join(_VULGAR), lambda match: _VULGAR[match[0]], text)
    text = _SUPERSCRIPT.sub(lambda match: "^{" + match[0].translate(_RAISED) + "}", text)
    text = _SUBSCRIPT.sub(lambda match: "_{" + match[0].translate(_LOWERED) + "}", text)
    text = text.translate(_CHARACTERS)
    text = _GROUPS.sub(lambda match: re.sub(r"[^0-9]", "", match[0]), text)
    text = _COMMAND.sub(_spelled, _FONT.sub(r"\\text{", _FRAME.sub("{", text)))
    text = re.sub(r"(?<!\\)\$", "", re.sub(r"^\s*\$(?=[0-9.])([^$]*)$", r"\\dollar \1", text))
    return _numbers(_words(text)).strip().rstrip(".,;").strip()


def _spelled(match: re.Match[str]) -> str:
    if match[1]:
        if match[1] not in _SPELLINGS:
            return match[0]
        spelled = _SPELLINGS[match[1]]
        return spelled + " " if spelled[-1:].isalpha() else spelled
    if match[2]:
        return r"\dollar " if match[2] == "$" else " " if match[2] in ",;:> " else ""
    return match[0]


def _words(text: str) -> str:
    """Return the text with words of mathematics as commands."""
    text = re.sub(r"<\s*=", r"\\le ", re.sub(r">\s*=", r"\\ge ", re.sub(r"!\s*=", r"\\ne ", text)))
    text = text.replace("**", "^").replace("*", r"\cdot ")
    text = re.sub(r"(?<!\\)%", r"\\%", text)
    text = re.sub(r"\\text\{\s*\}", " ", _NAMED_FUNCTION.sub(r"\\\1 ", text))
    text = _FUNCTION.sub(r"\\\1", _ROOT_WORD.sub(r"\\sqrt", text))
    infinity = {"inf": "infty", "infinity": "infty"}
    text = _WORD_SYMBOLS.sub(lambda match: "\\" + infinity.get(match[0], match[0]) + " ", text)
    text = _COMMAND_IN_TEXT.sub(r"\1 ", text)
    if "\\begin" in text:
        return re.sub(r"\\text\{\s*(?:and|or)\s*\}", " ", text)
    return _CONNECTIVE.sub(lambda match: r"\lor " if "or" in match[0] else r"\land ", text)


def _numbers(text: str) -> str:
    text = _SPACE_GROUPS.sub(lambda match: match[0].replace(" ", ""), text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = _SCIENTIFIC.sub(r"\1\\cdot 10^{\2}", text)
    text = _SUB.sub(r"_{\1}", _EXPONENT.sub(_raised, text))
    for _ in range(2):  # the exponents of units stay as they are
        text = _EXPONENT_IN_TEXT.sub(r"\1^\2\3", text)
    return braced(_ROOT.sub(r"\\sqrt{\1}", text))


def _raised(match: re.Match[str]) -> str:
    content = match[1] or match[2] or match[3] or r"\circ"
    return "^{" + content.replace(" ", "") + "}" if match[3] is None else "^{" + content + "}"


def braced(tex: str) -> str:
    r"""Return TeX with every argument of \frac and \sqrt in braces, as TeX reads them: \frac12 is \frac{1}{2}."""
    parts, end = [], 0
    while match := _ARGUMENTS.search(tex, end):
        parts.append(tex[end:match.end()])
        end = match.end()
        for _ in range(2 if match[1] else 1):
            argument, end = _argument(tex, end)
            parts.append("" if argument is None else "{" + braced(argument) + "}")
    return "".join([*parts, tex[end:]])


def _argument(tex: str, start: int) -> tuple[str | None, int]:
    """Return the argument that TeX would read at `start`, without braces, and the index of its end."""
    if match := _BARE.match(tex, start):
        return match[1], match.end()
    depth = 0
    for match in _BRACE.finditer(tex, start):
        depth += {"{": 1, "}": -1}.get(match[1], 0)
        if depth <= 0:
            break
    else:
        return None, start
    inner = tex[start:match.end()].strip()
    return (inner[1:-1], match.end()) if inner.startswith("{") else (None, start)
