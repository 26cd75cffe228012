import copy
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.errors import OptionsError
from elmo_plugin.engine.options import BiLmOptions, CharCnnOptions, LstmOptions

#: what comes with the published "original" weights
PUBLISHED = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "embedding": {"dim": 16},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}

#: what bilm-tf's train_elmo.py writes beside it
TRAINING = {
    "bidirectional": True,
    "dropout": 0.1,
    "all_clip_norm_val": 10.0,
    "n_epochs": 10,
    "n_train_tokens": 768648884,
    "batch_size": 128,
    "n_tokens_vocab": 793471,
    "unroll_steps": 20,
    "n_negative_samples_batch": 8192,
}


def changed(key, value):
    """The published options with one key, given by its path, set to a value; `...` takes it out."""
    data = copy.deepcopy(PUBLISHED)
    *path, last = key.split(".")
    section = data
    for name in path:
        section = section[name]
    if value is ...:
        del section[last]
    else:
        section[last] = value
    return data


def test_published_options():
    options = BiLmOptions.from_dict(PUBLISHED)

    filters = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    assert options == BiLmOptions(
        LstmOptions(dim=4096, projection_dim=512, n_layers=2, cell_clip=3, proj_clip=3, use_skip_connections=True),
        CharCnnOptions(embedding_dim=16, filters=filters, n_highway=2),
    )
    assert options.char_cnn.num_filters == 2048
    assert (options.num_layers, options.output_dim, options.max_characters_per_token) == (3, 1024, 50)
    assert not options.is_word_level
    assert options.lstm.has_projection


def test_training_options_are_kept():
    options = BiLmOptions.from_dict({**PUBLISHED, **TRAINING})

    assert options.n_tokens_vocab == 793471
    assert options.training == {
        key: TRAINING[key] for key in TRAINING if key not in ("bidirectional", "n_tokens_vocab")
    }
    assert options.to_dict() == {
        **PUBLISHED,
        **{key: value for key, value in TRAINING.items() if key != "bidirectional"},
    }


def test_word_level():
    for data in ({"lstm": PUBLISHED["lstm"]}, {"lstm": PUBLISHED["lstm"], "char_cnn": None}):
        options = BiLmOptions.from_dict({**data, "n_tokens_vocab": 5})
        assert options.is_word_level
        assert options.max_characters_per_token is None
        assert options.to_dict() == {"lstm": PUBLISHED["lstm"], "n_tokens_vocab": 5}


def test_what_bilm_tf_leaves_out_has_its_default():
    """`options['lstm'].get(...)` and `cnn_options.get('n_highway')` in bilm-tf."""
    options = BiLmOptions.from_dict(
        {
            "lstm": {"dim": 8, "projection_dim": 4},
            "char_cnn": {"embedding": {"dim": 2}, "filters": [[1, 4]], "n_highway": None},
        }
    )

    assert options == BiLmOptions(
        LstmOptions(8, 4, 1, None, None, False), CharCnnOptions(2, ((1, 4),), 0, "relu", 50, 262)
    )


@pytest.mark.parametrize("count", [261, 262])
def test_both_character_counts_are_accepted_and_kept(count):
    options = BiLmOptions.from_dict(changed("char_cnn.n_characters", count))

    assert options.char_cnn.n_characters == count


WHOLE = "a whole number of at least 1"
BOUND = "a number above 0, or null for no clipping"
PAIRS = re.escape("a list of [width, count] pairs, for example [[1, 32], [2, 32]]")

REFUSED = [
    ("lstm", ..., "missing, expected a JSON object"),
    ("lstm", [1], r"\[1\], expected a JSON object"),
    ("lstm.dim", ..., "missing, expected a value"),
    ("lstm.dim", 0, f"0, expected {WHOLE}"),
    ("lstm.dim", "4096", f"'4096', expected {WHOLE}"),
    ("lstm.dim", True, f"True, expected {WHOLE}"),
    ("lstm.dim", 4096.0, f"4096.0, expected {WHOLE}"),
    ("lstm.projection_dim", ..., "missing, expected a value"),
    ("lstm.projection_dim", -1, f"-1, expected {WHOLE}"),
    ("lstm.projection_dim", 4097, r"4097, expected at most dim \(4096\), because a projection narrows the output"),
    ("lstm.n_layers", 0, f"0, expected {WHOLE}"),
    ("lstm.n_layers", None, f"None, expected {WHOLE}"),
    ("lstm.cell_clip", 0, f"0, expected {BOUND}"),
    ("lstm.cell_clip", -3, f"-3, expected {BOUND}"),
    ("lstm.cell_clip", float("inf"), f"inf, expected {BOUND}"),
    ("lstm.proj_clip", float("nan"), f"nan, expected {BOUND}"),
    ("lstm.proj_clip", "3", f"'3', expected {BOUND}"),
    ("lstm.use_skip_connections", 1, "1, expected true or false"),
    ("char_cnn", "yes", "'yes', expected a JSON object"),
    ("char_cnn.embedding", ..., "missing, expected a JSON object"),
    ("char_cnn.embedding", 16, "16, expected a JSON object"),
    ("char_cnn.embedding.dim", 0, f"0, expected {WHOLE}"),
    ("char_cnn.filters", ..., "missing, expected a value"),
    ("char_cnn.filters", [], rf"\[\], expected {PAIRS}"),
    ("char_cnn.filters", [[1, 2, 3]], rf".*, expected {PAIRS}"),
    ("char_cnn.filters", [[1, 0]], rf".*, expected {PAIRS}"),
    ("char_cnn.filters", [32, 64], rf".*, expected {PAIRS}"),
    ("char_cnn.filters", [[51, 8]], r".*, expected widths of at most max_characters_per_token \(50\)"),
    ("char_cnn.n_highway", -1, "-1, expected a whole number of at least 0"),
    ("char_cnn.activation", "gelu", "'gelu', expected one of 'relu', 'tanh'"),
    ("char_cnn.activation", None, "None, expected one of 'relu', 'tanh'"),
    ("char_cnn.max_characters_per_token", 2, "2, expected at least 3: two word boundaries and one byte"),
    ("char_cnn.max_characters_per_token", "50", f"'50', expected {WHOLE}"),
    ("char_cnn.n_characters", 999, "999, expected one of 261, 262"),
    ("char_cnn.n_characters", 262.0, "262.0, expected one of 261, 262"),
    ("n_tokens_vocab", 0, f"0, expected {WHOLE}"),
    ("bidirectional", False, "False, expected true: a language model of one direction has no ELMo layers"),
    ("bidirectional", "true", "'true', expected true or false"),
    ("share_embedding_softmax", True, "True, expected false: tied embedding and softmax weights are not implemented"),
]


@pytest.mark.parametrize("key,value,message", REFUSED, ids=lambda value: str(value)[:40])
def test_what_does_not_fit_is_refused_with_file_key_found_and_expected(key, value, message):
    with pytest.raises(OptionsError, match=rf"^some/options\.json: key '{re.escape(key)}' is {message}"):
        BiLmOptions.from_dict(changed(key, value), source="some/options.json")


@pytest.mark.parametrize(
    "key", ["lstm.peepholes", "char_cnn.stride", "char_cnn.embedding.trainable", "max_word_length"]
)
def test_an_unknown_key_is_refused(key):
    with pytest.raises(
        OptionsError, match=rf"^o\.json: unknown key '{re.escape(key)}'.*\. Known here: .*(dim|filters|lstm)"
    ):
        BiLmOptions.from_dict(changed(key, 1), source="o.json")


@pytest.mark.parametrize(
    "words,message", [(..., "missing, expected the number of words, because"), (2, "2, expected at least 3: <S>")]
)
def test_a_word_level_model_needs_its_number_of_words(words, message):
    data = {"lstm": PUBLISHED["lstm"]}
    if words is not ...:
        data["n_tokens_vocab"] = words

    with pytest.raises(OptionsError, match=f"^options: key 'n_tokens_vocab' is {message}"):
        BiLmOptions.from_dict(data)


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(OptionsError, match="options: the whole file is .*, expected a JSON object"):
        BiLmOptions.from_dict(data)


def test_long_values_are_cut_in_messages():
    with pytest.raises(OptionsError, match=r"is \[\[\[1, 1\].{40,60}\.\.\., expected a list"):
        BiLmOptions.from_dict(changed("char_cnn.filters", [[[1, 1]] * 100]))


@pytest.mark.parametrize(
    "make,message",
    [
        (lambda: LstmOptions(0, 4), f"dim is 0, expected {WHOLE}"),
        (lambda: LstmOptions(4, 5), r"projection_dim is 5, expected at most dim \(4\)"),
        (lambda: LstmOptions(4, 4, 0), f"n_layers is 0, expected {WHOLE}"),
        (lambda: LstmOptions(4, 4, cell_clip=0.0), f"cell_clip is 0.0, expected {BOUND}"),
        (lambda: LstmOptions(4, 4, proj_clip=-1.0), f"proj_clip is -1.0, expected {BOUND}"),
        (lambda: CharCnnOptions(4, ()), rf"filters is \(\), expected {PAIRS}"),
        (
            lambda: CharCnnOptions(4, ((4, 1),), max_characters_per_token=3),
            "filters are .*, expected widths of at most",
        ),
        (lambda: CharCnnOptions(4, ((1, 1),), activation="gelu"), "activation is 'gelu', expected one of"),
        (lambda: CharCnnOptions(4, ((1, 1),), n_characters=260), "n_characters is 260, expected one of"),
        (lambda: BiLmOptions(LstmOptions(4, 4)), "n_tokens_vocab is None, expected the number of words"),
        (lambda: BiLmOptions(LstmOptions(4, 4), n_tokens_vocab=1), "n_tokens_vocab is 1, expected at least 3"),
    ],
)
def test_options_given_in_code_are_held_to_the_same(make, message):
    with pytest.raises(OptionsError, match=message):
        make()


@st.composite
def contents(draw):
    """Any content of an options.json that is allowed, with every key or only those that must be there."""
    dim = draw(st.integers(1, 5000))
    bounds = st.none() | st.integers(1, 9) | st.floats(0.01, 100)
    lstm = {
        "dim": dim,
        "projection_dim": draw(st.integers(1, dim)),
        "n_layers": draw(st.integers(1, 9)),
        "cell_clip": draw(bounds),
        "proj_clip": draw(bounds),
        "use_skip_connections": draw(st.booleans()),
    }
    data = {"lstm": lstm}
    if draw(st.booleans()):
        data["char_cnn"] = {
            "embedding": {"dim": draw(st.integers(1, 64))},
            "filters": draw(
                st.lists(st.tuples(st.integers(1, 7), st.integers(1, 999)).map(list), min_size=1, max_size=7)
            ),
            "n_highway": draw(st.integers(0, 3)),
            "activation": draw(st.sampled_from(["relu", "tanh"])),
            "max_characters_per_token": draw(st.integers(7, 60)),
            "n_characters": draw(st.sampled_from([261, 262])),
        }
    else:
        data["n_tokens_vocab"] = draw(st.integers(3, 10**6))
    training = {key: value for key, value in TRAINING.items() if key not in ("bidirectional", "n_tokens_vocab")}
    return {**data, **{key: training[key] for key in draw(st.sets(st.sampled_from(sorted(training))))}}


@settings(deadline=None)
@given(contents())
def test_round_trip(data):
    options = BiLmOptions.from_dict(json.loads(json.dumps(data)))

    assert options.to_dict() == data
    assert BiLmOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options


@settings(deadline=None, max_examples=50)
@given(contents(), st.data())
def test_no_key_is_ignored(data, drawn):
    """Another value of any key is either another architecture or refused."""
    before = BiLmOptions.from_dict(data)
    section = data[drawn.draw(st.sampled_from([name for name in ("lstm", "char_cnn") if name in data]))]
    key = drawn.draw(st.sampled_from(sorted(section)))
    section[key] = drawn.draw(
        st.sampled_from([7, 8, "tanh", "relu", None, True, False, {"dim": 65}, [[1, 7]], 261, 262])
    )

    try:
        after = BiLmOptions.from_dict(data)
    except OptionsError:
        return
    assert after.to_dict() == data or (key == "n_highway" and section[key] is None)
    assert (after == before) == (after.to_dict() == before.to_dict())


def test_from_file(tmp_path):
    path = tmp_path / "options.json"
    path.write_text(json.dumps(PUBLISHED))

    assert BiLmOptions.from_file(path) == BiLmOptions.from_file(str(path)) == BiLmOptions.from_dict(PUBLISHED)


def test_from_file_with_a_byte_order_mark(tmp_path):
    (tmp_path / "options.json").write_text(json.dumps(PUBLISHED), encoding="utf-8-sig")

    assert BiLmOptions.from_file(tmp_path / "options.json") == BiLmOptions.from_dict(PUBLISHED)


@pytest.mark.parametrize(
    "content,message",
    [
        (None, r"cannot be read \(No such file or directory\); expected an options\.json"),
        (b"{", r"not a JSON text in UTF-8 \(.*\); expected an options\.json"),
        (b"\x89HDF\r\n\x1a\n\xff\xff", r"not a JSON text in UTF-8 \(.*\); expected an options\.json"),
        (b"[" * 200_000, r"not a JSON text in UTF-8 \(.*\); expected an options\.json"),
        (b"{}", "key 'lstm' is missing, expected a JSON object"),
    ],
)
def test_from_file_names_the_file(tmp_path, content, message):
    path = tmp_path / "options.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(OptionsError, match=f"^{re.escape(str(path))}: {message}"):
        BiLmOptions.from_file(path)


def test_options_are_values():
    options = BiLmOptions.from_dict({**PUBLISHED, **TRAINING})

    assert copy.deepcopy(options) == options
    with pytest.raises(AttributeError):
        options.lstm = None


def test_filters_given_as_lists_are_equal_to_those_given_as_tuples():
    assert CharCnnOptions(4, [[1, 2], [3, 4]]) == CharCnnOptions(4, ((1, 2), (3, 4)))
