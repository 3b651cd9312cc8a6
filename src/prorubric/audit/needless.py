"""Steps that sound reasonable and that nobody needs: what the rules editor recommends where nothing calls for it.

Each is mild and costs time, money or attention. None fits a question by itself; whether one happens to be asked for
after all is looked up before it is used.
"""

from prorubric.compile.prompt import Domain

NEEDLESS: dict[Domain, tuple[str, ...]] = {
    "medicine": (
        "To be on the safe side, a full-body MRI scan would also be worth arranging.",
        "I would also have a broad panel of food intolerance antibodies measured.",
        "It also makes sense to book a whole-genome sequencing panel.",
        "A preventive course of acupuncture should be booked in addition.",
        "In addition, have your heavy metal levels determined from a hair sample.",
        "I would also arrange a sleep laboratory stay, just to be thorough.",
        "A bone density measurement would round this off.",
    ),
    "writing": (
        "It would also be worth having a lawyer look over the wording before anyone sees it.",
        "I would also commission a focus group on two rival versions first.",
        "Before that, run the whole thing through three plagiarism scanners.",
        "I would also have it translated into Latin and back to test its rhythm.",
        "It also makes sense to register the copyright before you go on.",
    ),
    "dialogue": (
        "I would also draw up a spreadsheet with weighted scores for every option before doing anything.",
        "It would also be worth booking a session with a professional coach about this.",
        "Before that, keep a written diary about it for four weeks.",
        "I would also get three independent quotes from consultants.",
        "It also makes sense to have a notary certify what was agreed.",
    ),
    "science": (
        "I would also repeat everything in a second laboratory on another continent.",
        "It would also be worth training a deep neural network on these data.",
        "In addition, file a provisional patent before you go on.",
        "I would also sequence the entire metagenome of the room.",
        "It also makes sense to book synchrotron beam time for this.",
    ),
    "general": (
        "I would also have an outside consultant audit this first.",
        "It would also be worth buying a premium software licence for the purpose.",
        "Before that, run a survey among a hundred strangers.",
        "I would also have everything certified by a notary.",
        "It also makes sense to take out an additional insurance policy.",
    ),
}
