"""Tools over mail: the folders inbox, sent, drafts and archive."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from hone.environments.desk import times
from hone.environments.desk.file_tools import LONGEST_TEXT
from hone.environments.desk.store import DeskStore
from hone.environments.hashing import canonical
from hone.environments.tools import ToolError

Folder = Literal["inbox", "sent", "drafts", "archive"]
Address = Annotated[str, Field(min_length=3, max_length=200)]


class ListMail(BaseModel):
    """List the mails of a folder, the newest first: id, sender, recipients, subject, time."""

    folder: Folder = Field("inbox", description="The folder.")


class ReadMail(BaseModel):
    """Read a mail."""

    mail: str = Field(description="The mail's id, such as M3.")


class SearchMail(BaseModel):
    """List mails of all folders whose sender, recipients, subject or text contain some words, whatever their case."""

    words: str = Field(min_length=1, max_length=300, description="The words, found one after the other as they stand.")


class SendMail(BaseModel):
    """Send a mail."""

    to: list[Address] = Field(min_length=1, max_length=20, description="Addresses of the recipients.")
    subject: str = Field(max_length=300, description="The subject.")
    body: str = Field(max_length=LONGEST_TEXT, description="The text.")
    attachments: list[str] = Field([], max_length=20, description="Paths of files.")


class DraftMail(SendMail):
    """Write a mail into the drafts, without sending it."""


class MoveMail(BaseModel):
    """Move a mail to another folder."""

    mail: str = Field(description="The mail's id.")
    folder: Folder = Field(description="The folder.")


class DeleteMail(BaseModel):
    """Delete a mail."""

    mail: str = Field(description="The mail's id.")


def _list(store: DeskStore, given: ListMail) -> str:
    return _lines(store, [key for key, mail in store.objects("mail").items() if mail["folder"] == given.folder])


def _read(store: DeskStore, given: ReadMail) -> str:
    mail = store.object("mail", given.mail)
    store.write("mail", given.mail, read=True)
    shown = {name: value for name, value in mail.items() if name != "read"}
    return canonical({"mail": given.mail, **shown, "sent": times.local(mail["sent"], store.zone)})


def _search(store: DeskStore, given: SearchMail) -> str:
    words = given.words.casefold()
    return _lines(store, [
        key for key, mail in store.objects("mail").items()
        if words in " ".join([mail["sender"], *mail["to"], mail["subject"], mail["body"]]).casefold()])


def _send(store: DeskStore, given: SendMail) -> str:
    store.permit("send_mail")
    return f"sent as {_new(store, given, 'sent')}"


def _draft(store: DeskStore, given: DraftMail) -> str:
    return f"drafted as {_new(store, given, 'drafts')}"


def _move(store: DeskStore, given: MoveMail) -> str:
    store.object("mail", given.mail)
    store.write("mail", given.mail, folder=given.folder)
    return f"moved {given.mail} to {given.folder}"


def _delete(store: DeskStore, given: DeleteMail) -> str:
    store.remove("mail", given.mail)
    return f"deleted {given.mail}"


def _new(store: DeskStore, given: SendMail, folder: Folder) -> str:
    missing = [path for path in given.attachments if path not in store.objects("files")]
    if missing:
        raise ToolError(f"attachments: there is no file {missing[0][:100]}")
    if wrong := [one for one in given.to if "@" not in one]:
        raise ToolError(f"to: found {wrong[0]!r}, expected an e-mail address")
    return store.create("mail", folder=folder, sender=store.owner, to=[one.strip().lower() for one in given.to],
                        subject=given.subject, body=given.body, attachments=given.attachments, sent=store.now,
                        read=True)


def _lines(store: DeskStore, keys: Sequence[str]) -> str:
    mails = store.objects("mail")
    newest = sorted(keys, key=lambda key: (mails[key]["sent"], key), reverse=True)
    return canonical([{"mail": key, "sender": mails[key]["sender"], "to": mails[key]["to"],
                       "subject": mails[key]["subject"], "sent": times.local(mails[key]["sent"], store.zone)}
                      for key in newest])


TOOLS: Mapping[str, tuple[type[BaseModel], Callable[[DeskStore, Any], str]]] = {
    "list_mail": (ListMail, _list), "read_mail": (ReadMail, _read), "search_mail": (SearchMail, _search),
    "send_mail": (SendMail, _send), "draft_mail": (DraftMail, _draft), "move_mail": (MoveMail, _move),
    "delete_mail": (DeleteMail, _delete)}
