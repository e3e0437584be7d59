"""Release notes: a fragment's form, and the page of a release."""

import pytest

from checks.changes import Malformed, parse, read
from scripts.changes import page, release


@pytest.mark.parametrize(("text", "found"), [
    ("- no kind\n", "first line"),
    ("# Improved\n\n- a point\n", "found \\['# Improved'\\]"),
    ("# Added\n- no empty line\n", "first line"),
    ("# Added\n\n", ":3: found ''"),
    ("# Added\n\n  goes on\n", ":3:"),
    ("# Added\n\n- a point\ntext\n", ":4: found 'text'"),
    ("# Added\n\n" + "- a point\n" * 13, "13 lines"),
    ("# Added\n\n- " + "long " * 40, "characters"),
])
def test_a_fragment_of_another_form_is_refused(text, found):
    with pytest.raises(Malformed, match=found):
        parse("new.md", text)


def test_a_link_to_a_missing_file_is_refused(tmp_path):
    (tmp_path / "new.md").write_text("# Added\n\n- see [more](../more.md#part)\n")
    with pytest.raises(Malformed, match=r"new\.md: link to \.\./more\.md"):
        read(tmp_path)


def test_a_page_holds_the_points_by_kind_with_links_seen_from_its_own_folder():
    fragments = [parse("a.md", "# Fixed\n\n- first\n  goes on\n"), parse("b.md", "# Added\n\n- [x](../../x.md)\n"),
                 parse("c.md", "# Fixed\n\n- second\n")]
    assert page("0.1.0", fragments) == (
        "# 0.1.0\n\n## Added\n\n- [x](../x.md)\n\n## Fixed\n\n- first\n  goes on\n- second\n")


def test_a_release_writes_its_page_once_and_deletes_the_fragments(tmp_path):
    folder = tmp_path / "unreleased"
    folder.mkdir()
    (folder / "a.md").write_text("# Added\n\n- a point\n")
    path = release("0.1.0", folder)
    assert path.read_text() == "# 0.1.0\n\n## Added\n\n- a point\n"
    assert not list(folder.iterdir())
    with pytest.raises(FileExistsError):
        release("0.1.0", folder)
