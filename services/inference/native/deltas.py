"""New tokens of streamed sequences, while they run."""

from services.inference.native.slots import SlotTable
from services.inference.requests import Answer
from services.inference.stopping import held_back


def collect(table: SlotTable) -> list[Answer]:
    """Report new tokens of streamed sequences, holding back those that a stop text may still take away."""
    answers = []
    for slot in table.running[table.watched[table.running]].tolist():
        sequence = table.sequence(slot)
        sure = int(table.length[slot] - table.prompt[slot]) - held_back(sequence.request.sampling.stop)
        if sequence.request.streamed and sure > sequence.reported:
            delta = table.completion(slot, None, sequence.reported, sure)
            sequence.reported = sure
            answers.append(Answer(sequence.request, [delta], False))
    return answers
