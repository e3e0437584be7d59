"""The 25 verifiable instructions of IFEval (Zhou et al., 2023, arXiv 2311.07911): does a text follow one?

Each rule is a function of the text and of arguments by IFEval's names. Sentences are counted by a rule of our own,
since the data of nltk's splitter comes with no package. A text whose language nobody can tell follows no language.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hone.graders import languages
from hone.graders.formats import Unparsed, fenced, parsed

_ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc|e\.g|i\.e|fig|vol|approx|dept|inc|ltd|rev|jan|feb"
                           r"|apr|aug|sept?|oct|nov|dec|(?-i:[A-Z]))\.$", re.IGNORECASE)
_END = re.compile(r"[.!?…]++[\"'”’)\]*_]*+(?=\s)|[。！？]")
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]*\]")
_HIGHLIGHT = re.compile(r"\*\*([^\n*]*)\*\*|\*([^\n*]*)\*")
_PARAGRAPH, _RESPONSE = re.compile(r"\s?\*\*\*\s?"), "******"
_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_POSTSCRIPTS = {"P.P.S": re.compile(r"p\.\s?p\.\s?s"), "P.S.": re.compile(r"p\.\s?s\.")}
_FIRST_WORD_ENDS = re.compile(r"[.,?!'\"]")


def sentences(text: str) -> int:
    """Return the number of sentences: parts with a letter or digit that end with . ! ? … or with the text.

    A period behind a title, a usual abbreviation or a single letter ends none.
    """
    count, begin = 0, 0
    for end in _END.finditer(text):
        if end[0] == "." and _ABBREVIATION.search(text, max(begin, end.start() - 8), end.end()):
            continue
        count += bool(_WORD.search(text, begin, end.end()))
        begin = end.end()
    return count + bool(_WORD.search(text, begin))


def _related(count: int, relation: str, wanted: int) -> bool:
    return count < wanted if relation == "less than" else count >= wanted


def _times(text: str, keyword: str) -> int:
    return len(re.findall(re.escape(keyword), text, re.IGNORECASE))


def _existence(text: str, keywords: Sequence[str]) -> bool:
    return all(_times(text, keyword) for keyword in keywords)


def _frequency(text: str, keyword: str, frequency: int, relation: str) -> bool:
    return _related(_times(text, keyword), relation, frequency)


def _forbidden(text: str, forbidden_words: Sequence[str]) -> bool:
    return not any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in forbidden_words)


def _letters(text: str, letter: str, let_frequency: int, let_relation: str) -> bool:
    return _related(text.lower().count(letter.lower()), let_relation, let_frequency)


def _language(text: str, language: str) -> bool:
    return languages.detected(text) == language


def _sentences(text: str, num_sentences: int, relation: str) -> bool:
    return _related(sentences(text), relation, num_sentences)


def _words(text: str, num_words: int, relation: str) -> bool:
    return _related(len(_WORD.findall(text)), relation, num_words)


def _paragraphs(text: str, num_paragraphs: int) -> bool:
    parts = [part.strip() for part in _PARAGRAPH.split(text)]
    return all(parts[1:-1]) and len([part for part in parts if part]) == num_paragraphs


def _nth_first_word(text: str, num_paragraphs: int, nth_paragraph: int, first_word: str) -> bool:
    parts = [part.strip() for part in text.split("\n\n")]
    nth = parts[nth_paragraph - 1] if nth_paragraph <= len(parts) else ""
    if not nth or len([part for part in parts if part]) != num_paragraphs:
        return False
    word = nth.split()[0].lstrip("'\"")
    return _FIRST_WORD_ENDS.split(word)[0].lower() == first_word.lower()


def _placeholders(text: str, num_placeholders: int) -> bool:
    return len(_PLACEHOLDER.findall(text)) >= num_placeholders


def _postscript(text: str, postscript_marker: str) -> bool:
    known = _POSTSCRIPTS.get(postscript_marker)
    return bool(known.search(text.lower())) if known else postscript_marker.strip().lower() in text.lower()


def _bullets(text: str, num_bullets: int) -> bool:
    lines = [line.lstrip() for line in text.splitlines()]
    return sum(line.startswith("-") or bool(re.match(r"\*[^*]", line)) for line in lines) == num_bullets


def _constrained(text: str) -> bool:
    return any(answer in text for answer in _ANSWERS)


def _highlights(text: str, num_highlights: int) -> bool:
    return sum(bool((bold or plain).strip()) for bold, plain in _HIGHLIGHT.findall(text)) >= num_highlights


def _sections(text: str, section_spliter: str, num_sections: int) -> bool:
    return len(re.findall(rf"{re.escape(section_spliter.strip())}\s?\d+", text)) >= num_sections


def _json(text: str) -> bool:
    try:
        parsed((fenced(text, "json") or "") if text.startswith("```") else text, "json")
    except Unparsed:
        return False
    return True


def _title(text: str) -> bool:
    return any(_titled(line) for line in text.splitlines())


def _titled(line: str) -> bool:
    begin, end = line.find("<<"), line.rfind(">>")
    return begin >= 0 and end >= begin + 2 and bool(line[begin:end + 2].lstrip("<").rstrip(">").strip())


def _two_responses(text: str) -> bool:
    parts = [part.strip() for part in text.split(_RESPONSE)]
    said = [part for part in parts if part]
    return all(parts[1:-1]) and len(said) == 2 and said[0] != said[1]


def _repeat(text: str, prompt_to_repeat: str) -> bool:
    return text.strip().lower().startswith(prompt_to_repeat.strip().lower())


def _end(text: str, end_phrase: str) -> bool:
    return text.strip().strip('"').lower().endswith(end_phrase.strip().lower())


def _quotation(text: str) -> bool:
    bare = text.strip()
    return len(bare) > 1 and bare[0] == bare[-1] == '"'


def _capitals(text: str, capital_frequency: int, capital_relation: str) -> bool:
    return _related(sum(map(str.isupper, _TOKEN.findall(text))), capital_relation, capital_frequency)


def _upper(text: str) -> bool:
    return text.isupper() and languages.is_english(text)


def _lower(text: str) -> bool:
    return text.islower() and languages.is_english(text)


def _no_comma(text: str) -> bool:
    return "," not in text


@dataclass(frozen=True)
class Rule:
    """An instruction: whether a text follows it, and the names of its arguments."""

    follows: Callable[..., bool]
    arguments: tuple[str, ...] = ()


RULES: Mapping[str, Rule] = {
    "keywords:existence": Rule(_existence, ("keywords",)),
    "keywords:frequency": Rule(_frequency, ("keyword", "frequency", "relation")),
    "keywords:forbidden_words": Rule(_forbidden, ("forbidden_words",)),
    "keywords:letter_frequency": Rule(_letters, ("letter", "let_frequency", "let_relation")),
    "language:response_language": Rule(_language, ("language",)),
    "length_constraints:number_sentences": Rule(_sentences, ("num_sentences", "relation")),
    "length_constraints:number_paragraphs": Rule(_paragraphs, ("num_paragraphs",)),
    "length_constraints:number_words": Rule(_words, ("num_words", "relation")),
    "length_constraints:nth_paragraph_first_word": Rule(
        _nth_first_word, ("num_paragraphs", "nth_paragraph", "first_word")),
    "detectable_content:number_placeholders": Rule(_placeholders, ("num_placeholders",)),
    "detectable_content:postscript": Rule(_postscript, ("postscript_marker",)),
    "detectable_format:number_bullet_lists": Rule(_bullets, ("num_bullets",)),
    "detectable_format:constrained_response": Rule(_constrained),
    "detectable_format:number_highlighted_sections": Rule(_highlights, ("num_highlights",)),
    "detectable_format:multiple_sections": Rule(_sections, ("section_spliter", "num_sections")),
    "detectable_format:json_format": Rule(_json),
    "detectable_format:title": Rule(_title),
    "combination:two_responses": Rule(_two_responses),
    "combination:repeat_prompt": Rule(_repeat, ("prompt_to_repeat",)),
    "startend:end_checker": Rule(_end, ("end_phrase",)),
    "startend:quotation": Rule(_quotation),
    "change_case:capital_word_frequency": Rule(_capitals, ("capital_frequency", "capital_relation")),
    "change_case:english_capital": Rule(_upper),
    "change_case:english_lowercase": Rule(_lower),
    "punctuation:no_comma": Rule(_no_comma),
}


def follows(name: str, text: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a text follows an instruction with checked arguments."""
    return RULES[name].follows(text, **arguments)
