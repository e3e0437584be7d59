"""Variables that describe a user, with their values and the sentences that say them. Ours: the paper's are a model's.

Values are single words, so that the same vocabulary serves English sentences and the short phrases of tiny models.
"""

from collections.abc import Mapping

VARIABLES: Mapping[str, tuple[str, str]] = {
    "city": ("Rome Oslo Bern Lima", "I have moved my things and now live in {value}."),
    "diet": ("vegan vegetarian halal omnivorous", "At home we now cook {value} meals only."),
    "commute": ("bicycle train car walking", "For the way to work it is {value} for me these days."),
    "pet": ("cat dog parrot none", "If anybody asks about a pet at my place, the answer is {value}."),
    "job": ("teacher nurse baker pilot", "At work I am a {value} now."),
    "budget": ("tight moderate generous unlimited", "My budget this season is {value}."),
    "sport": ("tennis rowing yoga climbing", "Twice a week I do {value}."),
    "home": ("flat house studio boat", "I come home to a {value}."),
    "sleep": ("early late broken regular", "My sleep has become {value}."),
    "mood": ("calm tense cheerful tired", "Friends say that I seem {value}."),
    "language": ("Italian Danish German Spanish", "My evening course is in {value}."),
    "partner": ("single married engaged divorced", "On forms I write {value} now."),
    "music": ("jazz opera techno folk", "In the evenings I listen to {value}."),
    "travel": ("mountains beaches cities islands", "For holidays we have settled on {value}."),
    "health": ("fit injured recovering allergic", "My doctor writes that I am {value}."),
    "screen": ("phone tablet laptop television", "Most of my reading happens on a {value}."),
    "company": ("alone friends family colleagues", "I spend my weekends with: {value}."),
    "garden": ("roses herbs vegetables lawn", "What grows outside my door is {value}."),
    "climate": ("humid dry cold mild", "The weather around here is {value}."),
    "savings": ("shares gold deposits debts", "What I have put aside is in {value}."),
}
"""Name -> values, separated by spaces, and the sentence that exposes one."""
MOST_VARIABLES, MOST_VALUES = len(VARIABLES), 4

TOPICS = (
    "a plan for the weekend", "a present for myself", "a good habit for the month", "a dinner with guests",
    "a course to take", "a book to read", "a way to relax", "a short trip", "a change at home", "a goal for the year",
    "a thing to buy first", "a way to meet people", "an evening routine", "a celebration", "something new to try",
    "a thing to give up", "a project with my hands", "a morning routine", "a way to save time", "a day off",
)
"""Subjects on which a user asks advice, at any date."""
MOST_QUESTIONS = len(TOPICS)

NAMES = ("Ada Berg", "Luca Moretti", "Mei Ito", "Omar Haddad", "Ingrid Dahl", "Noah Weiss", "Priya Nair", "Ana Sousa")
EDUCATIONS = ("a school certificate", "an apprenticeship", "a bachelor's degree", "a doctorate")
HOBBIES = ("chess", "pottery", "birdwatching", "baking", "photography", "sailing")


def values(name: str, count: int) -> tuple[str, ...]:
    """Return the first `count` values of a variable."""
    return tuple(VARIABLES[name][0].split()[:count])


def sentence(name: str, value: str) -> str:
    """Return the sentence by which a user says a value without being asked."""
    return VARIABLES[name][1].replace("{value}", value)
