"""A conversation as a reward model reads it: the whole text, parted where its last answer begins."""

from hone.models import toy
from hone.text.confined import ConfinedTokenizer
from hone.text.conversation import Message
from hone.text.tokenizer import Tokenizer

TEMPLATE = ("{% for message in messages %}[{{ message.role }}]{{ message.content }}!\n{% endfor %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
FILES = {**{name: data for name, data in toy.files(vocab_size=128, symbols=toy.TEXT).items() if name.endswith(".json")},
         "chat_template.jinja": TEMPLATE.encode()}
TALK: list[Message] = [{"role": "user", "content": "Why?"}]
ANSWER: Message = {"role": "assistant", "content": "So."}


def test_the_text_is_whole_and_asks_for_nothing_more() -> None:
    for tokenizer in (Tokenizer(FILES), ConfinedTokenizer(FILES)):
        before, rest = tokenizer.rated_ids(TALK, ANSWER)
        assert (tokenizer.read(before), tokenizer.read(rest)) == ("[user]Why?!\n[assistant]", "So.!\n")


def test_without_a_template_contents_are_joined() -> None:
    tokenizer = Tokenizer({name: data for name, data in FILES.items() if name != "chat_template.jinja"})
    before, rest = tokenizer.rated_ids(TALK, ANSWER)
    assert (tokenizer.read(before), tokenizer.read(rest)) == ("Why?", "So.")
