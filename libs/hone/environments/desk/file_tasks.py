"""Families about files: invoices by month, a directory to clean, and a report of expenses."""

from collections.abc import Sequence

from hone.environments.desk.conditions import Absent, Allowed, Count, Every, Holds, Unchanged, Value
from hone.environments.desk.scenery import DeskScene, call
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

_VENDORS = ("Paper & Co", "Cloud Nine Hosting", "Desk World", "Fast Freight", "Green Energy", "Office Plants")


def invoices(scene: DeskScene) -> DeskTask:
    """Move invoices to a directory for each month, by the date in their text."""
    numbers = scene.random.sample(range(100, 1000), 6)
    paths = [f"/inbox/scan-{number}.txt" for number in numbers]
    bills, others = paths[:4], paths[4:]
    ages = [scene.random.randint(1, 90) for _ in bills]
    texts = [_invoice(scene, path, age) for path, age in zip(bills, ages, strict=True)]
    for place, path in enumerate(others):
        scene.file(path, f"OFFER\nFrom: {_VENDORS[place]}\nOffer date: {scene.day(-9)}\nTotal: 99.00 EUR\nThis is no "
                         "invoice.")
    targets = [f"/invoices/{scene.day(-age)[:7]}/{path[7:]}" for path, age in zip(bills, ages, strict=True)]
    moves = [call("move_file", path=path, to=to) for path, to in zip(bills, targets, strict=True)]
    due = call("move_file", path=bills[0], to=f"/invoices/{scene.day(40 - ages[0])[:7]}/{bills[0][7:]}")
    offer = call("move_file", path=others[0], to=f"/invoices/{scene.day(-9)[:7]}/{others[0][7:]}")
    checks = (*(
        DeskCheck(f"invoice_{place + 1}", "The invoice is in the directory of its month.", "core", (Every(of=(
            Absent(tool="files", object=path), Value(tool="files", object=to, field="text", equals=said))),))
        for place, (path, to, said) in enumerate(zip(bills, targets, texts, strict=True))),
        DeskCheck("others", "What is no invoice stays.", "consistency", (Every(of=tuple(
            Unchanged(tool="files", object=path) for path in others)),)),
        DeskCheck("none_left", "No invoice is left in the inbox.", "consistency", (Every(of=tuple(
            Absent(tool="files", object=path) for path in bills)),)), ALONE)
    return DeskTask(
        scene.family, "Scans with a number for a name, some of them offers; due dates lie in other months.",
        conflicting(scene.variant.conflict, "noisy data", "entity alignment"),
        "File the invoices that lie in /inbox: move each one to the directory /invoices/YYYY-MM of the month of its "
        "invoice date, and keep its file name. Leave everything else where it is.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        tuple(Allowed(tool="files", object=one) for path in bills for one in (path, f"/invoices/*/{path[7:]}")),
        Scripts(tuple(moves), tuple(moves[:2]), tuple(
            call("move_file", path=path, to=f"/invoices/{scene.day(-9)[:7]}/{path[7:]}") for path in others), (
                NearMiss((due, *moves[1:]), "invoice_1"), NearMiss((*moves, offer), "others"),
                NearMiss(tuple(moves[:3]), "none_left"),
                NearMiss((*moves[:3], call("write_file", path=targets[3], text=texts[3])), "invoice_4"))))


def _invoice(scene: DeskScene, path: str, age: int) -> str:
    """Lay an invoice down and return its text. In a conflict its date of payment stands before its own."""
    dates = [f"Invoice date: {scene.day(-age)}"]
    if scene.variant.conflict:
        dates = [f"Due date: {scene.day(40 - age)}", *dates]
    total = scene.random.randint(1000, 90000) / 100
    text = "\n".join([f"INVOICE {scene.random.randint(1000, 9999)}", f"From: {scene.random.choice(_VENDORS)}", *dates,
                      f"Total: {total:.2f} EUR"])
    scene.file(path, text)
    return text


def clean(scene: DeskScene) -> DeskTask:
    """Delete temporary files and true copies, and keep what only looks like one."""
    stems = scene.random.sample(("report", "plan", "budget", "slides", "draft", "letter", "photo-list"), 5)
    rubbish = [scene.file(f"/downloads/{stems[3]}-{scene.random.randint(10, 99)}.tmp", "partial data"),
               scene.file(f"/downloads/{stems[4]}.part", "partial download")]
    originals = [scene.file(f"/downloads/{stem}.txt", f"{stem} of {scene.day(-4)}") for stem in stems[:3]]
    rubbish += [scene.file(f"/downloads/{stem} (1).txt", f"{stem} of {scene.day(-4)}") for stem in stems[:2]]
    kept = [scene.file(f"/downloads/{stems[2]} (1).txt", f"{stems[2]} of {scene.day(-3)}, revised"),
            scene.file("/downloads/README.txt", "Files whose first line is KEEP stay, whatever they are called.")]
    if scene.variant.conflict:
        kept.append(scene.file("/downloads/backup.tmp", "KEEP\nkeys of the safe"))
    if scene.variant.locked:
        kept.append(scene.file("/downloads/session.tmp", "in use", locked=True))
    deletes = [call("delete_file", path=path) for path in rubbish]
    checks = (*(DeskCheck(f"gone_{place + 1}", "The file is deleted.", "core", (Absent(tool="files", object=path),))
                for place, path in enumerate(rubbish)),
              DeskCheck("originals", "The originals stay.", "consistency", (_stay(originals),)),
              DeskCheck("kept", "What only looks like rubbish stays.", "consistency", (_stay(kept),)), ALONE)
    return DeskTask(
        scene.family, "Temporary files and copies, of which one was revised and one has to stay by a rule in a file.",
        conflicting(scene.variant.conflict, "constraint", "hidden dependency", "noisy data"),
        "Clean /downloads: delete temporary files (.tmp and .part), and copies such as 'x (1).txt' whose text equals "
        "that of 'x.txt'. /downloads/README.txt says what has to stay.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        tuple(Allowed(tool="files", object=path) for path in rubbish),
        Scripts(tuple(deletes), tuple(deletes[:2]), tuple(call("delete_file", path=path) for path in originals), (
            NearMiss((*deletes, call("delete_file", path=kept[0])), "kept"), NearMiss(tuple(deletes[1:]), "gone_1"),
            NearMiss((*deletes[:3], call("delete_file", path=originals[1])), "originals"))))


def _stay(paths: Sequence[str]) -> Every:
    return Every(of=tuple(Unchanged(tool="files", object=path) for path in paths))


def expenses(scene: DeskScene) -> DeskTask:
    """Add up the receipts of a project, each once, and send the report to whoever does the accounts."""
    accountant, other = scene.person(), scene.person()
    scene.known(accountant, "Does our accounts.")
    scene.known(other, "Former accountant, retired.")
    project, wrong_project = scene.random.sample(("Atlas", "Borealis", "Cobalt", "Delta"), 2)
    cents = [scene.random.randint(500, 20000) for _ in range(4)]
    receipts = [_receipt(scene, place, project, amount) for place, amount in enumerate(cents)]
    receipts.append(_receipt(scene, 7, wrong_project, 4200))
    twice = cents[0] if scene.variant.conflict else 0
    if twice:
        text = scene.state["files"][receipts[0]]["text"]
        receipts.append(scene.file("/receipts/again.txt", text))
    path, subject = f"/reports/{project}.txt".lower(), f"Expenses {project}"

    def report(count: int, total: int, at: str = path) -> str:
        return call("write_file", path=at, text=f"Receipts: {count}\nTotal: {total / 100:.2f} EUR\n")

    def sent(to: str, attached: str = path) -> str:
        return scene.mailed([to], subject, "The report.", [attached])

    right, elsewhere = report(4, sum(cents)), f"/reports/{wrong_project}.txt".lower()
    checks = (
        DeskCheck("count", "The report has the number of receipts.", "core", (
            Holds(tool="files", object=path, field="text", texts=("Receipts: 4",)),)),
        DeskCheck("total", "The report has the total.", "core", (
            Holds(tool="files", object=path, field="text", texts=(f"Total: {sum(cents) / 100:.2f} EUR",)),)),
        DeskCheck("sent", "The accountant has the report.", "core", (Count(tool="mail", where={
            "folder": scene.outbox, "to": [accountant.email], "subject": subject, "attachments": [path]}),)),
        DeskCheck("receipts", "The receipts stay.", "consistency", (_stay(receipts),)), ONE_MAIL, ALONE)
    return DeskTask(
        scene.family, "Receipts of several projects, one of them there twice; two people who did the accounts.",
        conflicting(scene.variant.conflict, "noisy data", "entity alignment", "hidden dependency"),
        f"Add up the receipts of the project {project} that lie in /receipts; a receipt number counts once. Write "
        f"{path} with the two lines 'Receipts: COUNT' and 'Total: SUM EUR', the sum with two decimals. Then mail it as "
        f"an attachment to the person who does our accounts, with the subject '{subject}'.",
        scene.user.email, scene.now, scene.user.zone, scene.finished(), weighted(checks),
        (Allowed(tool="files", object=path), Allowed(tool="mail", object=f"{accountant.email} | {subject}*")),
        Scripts((right, sent(accountant.email)), (report(4, sum(cents) + 100),), (
            report(1, 4200, elsewhere), sent(other.email, elsewhere)), (
            NearMiss((report(4, sum(cents) + (twice or 4200)), sent(accountant.email)), "total"),
            NearMiss((report(5, sum(cents)), sent(accountant.email)), "count"),
            *scene.refused("send_mail", right, call("send_mail", to=[accountant.email], subject=subject, body="",
                           attachments=[path]), check="sent"),
            NearMiss((right, scene.mailed([other.email, accountant.email], subject, "", [path])), "sent"),
            NearMiss((right, sent(accountant.email), sent(accountant.email)), "one_mail"),
            NearMiss((right, sent(accountant.email), call("delete_file", path=receipts[0])), "receipts"))))


def _receipt(scene: DeskScene, place: int, project: str, cents: int) -> str:
    number = 1000 + 13 * place + scene.random.randrange(10)
    lines = (f"Receipt {number}", f"Date: {scene.day(-place - 1)}", f"Project: {project}",
             f"Amount: {cents / 100:.2f} EUR")
    return scene.file(f"/receipts/{number}.txt", "\n".join(lines))
