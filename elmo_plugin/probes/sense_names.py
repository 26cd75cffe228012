"""Sense keys of WordNet for people: `play%1:10:01::` is a noun of communication."""

#: WordNet's lexicographer files, by the number in a sense key
_FILES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object noun.person "
    "noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape noun.state "
    "noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition "
    "verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession verb.social "
    "verb.stative verb.weather adj.ppl"
).split()


def sense_name(key: str) -> str:
    """
    Name a sense: `noun.communication play%1:10:01::`; the key alone where its file is not known.

    # Parameters

    key : a sense key of WordNet.
    """
    number = key.partition("%")[2].split(":")[1:2]
    if number and number[0].isascii() and number[0].isdigit() and int(number[0]) < len(_FILES):
        return f"{_FILES[int(number[0])]} {key}"
    return key
