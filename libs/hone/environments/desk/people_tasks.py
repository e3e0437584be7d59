"""Families about people: contacts to merge, and a mail to answer."""

from hone.environments.desk.conditions import Absent, Allowed, Count, Every, Unchanged, Value
from hone.environments.desk.scenery import DeskScene, Person, call
from hone.environments.desk.task import (
    ALONE,
    ONE_MAIL,
    DeskCheck,
    DeskTask,
    NearMiss,
    Scripts,
    conflicting,
    weighted,
)

_PRODUCTS = ("standing desk", "desk lamp", "filing cabinet", "whiteboard", "office chair", "monitor arm")


def merge(scene: DeskScene) -> DeskTask:
    """Make one entry of two for the same person, beside a namesake, with the newest phone number."""
    one, stranger = scene.person(), scene.person()
    first, last = one.name.split()
    old, older, remark = "+49 111 222333", "+49 444 555666", f"Met on {scene.day(-30)}."
    kept = scene.contact(one.name, one.email, old)
    twin = scene.contact(f"{last}, {first}", company=one.company, remark=remark)
    namesake = scene.contact(one.name, f"{first}.{last}@{stranger.company}.example".lower(), stranger.phone,
                             stranger.company)
    if scene.variant.conflict:
        scene.mail(one, "Holiday", f"I am away next week.\n{first}\nPhone: {older}", days_ago=6)
    scene.mail(one, "New office", f"We have moved.\n{first}\nPhone: {one.phone}", days_ago=2)
    phoned = call("update_contact", contact=kept, phone=one.phone)
    removed = call("delete_contact", contact=twin)
    filled = call("update_contact", contact=kept, company=one.company, remark=remark)
    merged = (call("merge_contacts", keep=kept, remove=twin),) if scene.may("merge_contacts") else (filled, removed)
    wrong = call("merge_contacts", keep=kept, remove=namesake) if scene.may("merge_contacts") else call(
        "delete_contact", contact=namesake)
    checks = (
        DeskCheck("phone", "The entry has the newest phone number.", "core", (
            Value(tool="contacts", object=kept, field="phone", equals=one.phone),)),
        DeskCheck("company", "The entry has the company of the other one.", "core", (
            Value(tool="contacts", object=kept, field="company", equals=one.company),)),
        DeskCheck("single", "The other entry is gone.", "core", (Absent(tool="contacts", object=twin),)),
        DeskCheck("nothing_lost", "Address, name and remark are there.", "consistency", (Every(of=(
            Value(tool="contacts", object=kept, field="email", equals=one.email),
            Value(tool="contacts", object=kept, field="name", equals=one.name),
            Value(tool="contacts", object=kept, field="remark", equals=remark))),)),
        DeskCheck("namesake", "The namesake stays as it was.", "consistency", (
            Unchanged(tool="contacts", object=namesake),)), ALONE)
    return DeskTask(
        scene.family, "Two entries of one person, written differently, and a namesake; phone numbers in mails.",
        conflicting(scene.variant.conflict, "entity alignment", "hidden dependency"),
        f"{one.name} of {one.company} stands twice in my contacts. Make one entry of the two: keep the one with the "
        f"address {one.email}, fill in what only the other one has, and set the phone number of {first}'s latest mail.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        (Allowed(tool="contacts", object=kept, fields=("phone", "company", "remark")),
         Allowed(tool="contacts", object=twin)),
        Scripts((*merged, phoned), (removed,), (wrong,), (
            NearMiss((*merged, call("update_contact", contact=kept, phone=older)), "phone"),
            *scene.refused("merge_contacts", call("merge_contacts", keep=kept, remove=twin), phoned, check="single"),
            NearMiss((removed, phoned, call("update_contact", contact=kept, remark=remark)), "company"),
            NearMiss((removed, phoned, call("update_contact", contact=kept, company=one.company)), "nothing_lost"),
            NearMiss((*merged, phoned, call("delete_contact", contact=namesake)), "namesake"))))


def answer(scene: DeskScene) -> DeskTask:
    """Answer a customer's question from the price list that holds, and note when to call by a rule in a note."""
    customer, other = scene.person(), scene.person()
    product, unrelated = scene.random.sample(_PRODUCTS, 2)
    price, wait = scene.random.randint(60, 400), scene.random.randint(3, 9)
    asked_ago = scene.random.randint(1, 4)
    subject, title = f"Price of the {product}", f"Call {customer.name}"
    due, late = scene.day(wait - asked_ago), scene.day(wait - asked_ago + 1)
    _prices(scene, product, price, unrelated)
    scene.note("House rules", f"Whoever asks for a price is called {wait} days after the date of their mail.")
    scene.mail(customer, subject, f"Hello,\nwhat does the {product} cost at present?\n{customer.first}", asked_ago)
    scene.mail(other, f"Price of the {unrelated}", f"What does the {unrelated} cost?\n{other.first}", asked_ago + 1)

    def said(person: Person, body: str) -> str:
        return scene.mailed([person.email], f"Re: {subject}", body)

    def noted(date: str, name: str = title) -> str:
        return scene.noted(name, f"Call on {date}.")

    reply = said(customer, f"It costs {price} EUR.")
    to = {"folder": scene.outbox, "to": [customer.email], "subject": f"Re: {subject}"}
    checks = (
        DeskCheck("reply", "The customer has an answer.", "core", (Count(tool="mail", where=to),)),
        DeskCheck("price", "It names the present price.", "core", (
            Count(tool="mail", where=to, contains={"body": (f"{price} EUR",)}),)),
        DeskCheck("note", "The note names the date of the call.", "core", (scene.is_noted(title, due),)),
        DeskCheck("one_note", "Exactly one note is new.", "consistency", (scene.one_noted(),)),
        ONE_MAIL, ALONE)
    return DeskTask(
        scene.family, "A price list that another one replaced, and a house rule about when customers are called.",
        conflicting(scene.variant.conflict, "hidden dependency", "temporal"),
        f"Answer {customer.name}'s mail about the {product} with its present price by our price list, as '<price> "
        f"EUR', in a mail with the subject 'Re: {subject}'. Then add a note with the title '{title}' that names the "
        "date (YYYY-MM-DD) on which I have to call by our house rules.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        (Allowed(tool="mail", object=f"{customer.email} | Re: {subject}*"), scene.may_note(title)),
        Scripts((reply, noted(due)), (said(customer, "I shall ask."),), (
            said(other, f"It costs {price} EUR."), noted(due, f"Call {other.name}")), (
            NearMiss((said(customer, f"It costs {price - 11} EUR."), noted(due)), "price"),
            *scene.refused("send_mail", call("send_mail", to=[customer.email], subject=f"Re: {subject}", body=""),
                           noted(due), check="reply"),
            *scene.refused("change_notes", reply, call("write_note", title=title, text=due), check="note"),
            NearMiss((reply, noted(late)), "note"),
            NearMiss((reply, noted(due), noted(late, f"{title} again")), "one_note"),
            NearMiss((reply, reply, noted(due)), "one_mail"))))


def _prices(scene: DeskScene, product: str, price: int, unrelated: str) -> None:
    listed = f"{unrelated}: {price + 35} EUR\n{product}: {price} EUR"
    scene.file("/documents/prices-b.txt", f"Price list, valid from {scene.day(-20)}\n{listed}")
    if scene.variant.conflict:
        scene.file("/documents/prices-a.txt", f"Price list, valid from {scene.day(-300)} to {scene.day(-21)}\n"
                   f"{unrelated}: {price + 20} EUR\n{product}: {price - 11} EUR")
