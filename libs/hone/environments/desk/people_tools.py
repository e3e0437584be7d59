"""Tools over contacts and notes, and all tools of a desk."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, Field

from hone.environments.desk import calendar_tools, file_tools, mail_tools, shell
from hone.environments.desk.file_tools import LONGEST_TEXT
from hone.environments.desk.store import DeskStore
from hone.environments.hashing import canonical
from hone.environments.tools import Tool, ToolError

FIELDS = ("name", "email", "phone", "company", "remark")
"""Fields of a contact."""


class FindContact(BaseModel):
    """List contacts with some words in any field, whatever their case."""

    words: str = Field(min_length=1, max_length=300, description="The words, found one after the other as they stand.")


class CreateContact(BaseModel):
    """Create a contact."""

    name: str = Field(min_length=1, max_length=200, description="The name.")
    email: str = Field("", max_length=200, description="E-mail address.")
    phone: str = Field("", max_length=200, description="Phone number.")
    company: str = Field("", max_length=200, description="Company.")
    remark: str = Field("", max_length=2000, description="Anything else.")


class UpdateContact(BaseModel):
    """Change the fields of a contact that are given."""

    contact: str = Field(description="The contact's id, such as C3.")
    name: str | None = Field(None, min_length=1, max_length=200, description="The name.")
    email: str | None = Field(None, max_length=200, description="E-mail address.")
    phone: str | None = Field(None, max_length=200, description="Phone number.")
    company: str | None = Field(None, max_length=200, description="Company.")
    remark: str | None = Field(None, max_length=2000, description="Anything else.")


class MergeContacts(BaseModel):
    """Fill the empty fields of one contact from another one, and delete that one."""

    keep: str = Field(description="Id of the contact that stays.")
    remove: str = Field(description="Id of the contact that is deleted.")


class DeleteContact(BaseModel):
    """Delete a contact."""

    contact: str = Field(description="The contact's id.")


class ListNotes(BaseModel):
    """List the notes: id and title."""


class ReadNote(BaseModel):
    """Read a note."""

    note: str = Field(description="The note's id, such as N3.")


class WriteNote(BaseModel):
    """Write a note: a new one, or in place of one whose id is given."""

    title: str = Field(min_length=1, max_length=200, description="The title.")
    text: str = Field(max_length=LONGEST_TEXT, description="The whole text.")
    note: str | None = Field(None, description="Id of the note that is replaced.")


class DeleteNote(BaseModel):
    """Delete a note."""

    note: str = Field(description="The note's id.")


def tools(store: DeskStore, with_shell: bool = False) -> Mapping[str, Tool]:
    """Return all tools of a desk, perhaps with a shell."""
    return {name: Tool(params, partial(call, store)) for name, (params, call) in EVERY.items()
            if with_shell or name not in shell.TOOLS}


def _find(store: DeskStore, given: FindContact) -> str:
    words = given.words.casefold()
    return canonical([{"contact": key, **_contact(one)} for key, one in sorted(store.objects("contacts").items())
                      if words in " ".join(_contact(one).values()).casefold()])


def _create(store: DeskStore, given: CreateContact) -> str:
    return f"created {store.create('contacts', **given.model_dump(), modified=store.now)}"


def _update(store: DeskStore, given: UpdateContact) -> str:
    store.object("contacts", given.contact)
    changes = given.model_dump(exclude_none=True, exclude={"contact"})
    store.write("contacts", given.contact, **changes, modified=store.now)
    return f"updated {given.contact}"


def _merge(store: DeskStore, given: MergeContacts) -> str:
    store.permit("merge_contacts")
    if given.keep == given.remove:
        raise ToolError("remove: found the contact that is kept, expected another one")
    kept, removed = (_contact(store.object("contacts", key)) for key in (given.keep, given.remove))
    store.write("contacts", given.keep, **{name: kept[name] or removed[name] for name in FIELDS}, modified=store.now)
    store.remove("contacts", given.remove)
    return f"merged {given.remove} into {given.keep}"


def _delete(store: DeskStore, given: DeleteContact) -> str:
    store.remove("contacts", given.contact)
    return f"deleted {given.contact}"


def _notes(store: DeskStore, given: ListNotes) -> str:  # noqa: ARG001
    return canonical([{"note": key, "title": note["title"]} for key, note in sorted(store.objects("notes").items())])


def _read_note(store: DeskStore, given: ReadNote) -> str:
    return canonical({"note": given.note, **store.object("notes", given.note)})


def _write_note(store: DeskStore, given: WriteNote) -> str:
    store.permit("change_notes")
    fields = {"title": given.title, "text": given.text, "modified": store.now}
    if given.note is None:
        return f"wrote {store.create('notes', **fields)}"
    store.object("notes", given.note)
    store.write("notes", given.note, **fields)
    return f"wrote {given.note}"


def _delete_note(store: DeskStore, given: DeleteNote) -> str:
    store.permit("change_notes")
    store.remove("notes", given.note)
    return f"deleted {given.note}"


def _contact(fields: Mapping[str, Any]) -> dict[str, str]:
    return {name: fields.get(name, "") for name in FIELDS}


_TOOLS: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {
    "find_contact": (FindContact, _find), "create_contact": (CreateContact, _create),
    "update_contact": (UpdateContact, _update), "merge_contacts": (MergeContacts, _merge),
    "delete_contact": (DeleteContact, _delete), "list_notes": (ListNotes, _notes), "read_note": (ReadNote, _read_note),
    "write_note": (WriteNote, _write_note), "delete_note": (DeleteNote, _delete_note)}
EVERY: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {
    **file_tools.TOOLS, **mail_tools.TOOLS, **calendar_tools.TOOLS, **_TOOLS, **shell.TOOLS}
"""Arguments and function of every tool that a desk may have."""
