import json

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elmo_plugin.engine.bilm import BiLm
from elmo_plugin.engine.errors import EngineError, FormatError, OptionsError, ShapeError, WeightFileError
from elmo_plugin.engine.sentence_ids import SentenceIds
from elmo_plugin.formats import read_options, read_pair, read_weights, write_weights
from tests.formats import many_langs
from tests.formats.strategies import assert_same_bits
from tests.formats.test_zip_files import pack


def vectors(weights, sentences, state="reset"):
    bilm = BiLm(weights.options, state=state)
    bilm.load_tensors(weights.tensors, weights.source)
    return bilm(SentenceIds(bilm, weights.vocabulary)(sentences)).layers


@pytest.mark.parametrize(
    "changes",
    [{}, {"word_dim": 0}, {"activation": "tanh"}, {"clip": None}, {"clip": 0}, {"layers": 1}],
    ids=str,
)
def test_vectors_are_those_of_the_equations(tmp_path, changes):
    weights = read_weights(many_langs.write(tmp_path / "m", **changes))
    found = vectors(weights, many_langs.SENTENCES)

    for row, sentence in enumerate(many_langs.SENTENCES):
        expected = torch.from_numpy(many_langs.layers(sentence, **changes))
        assert (found[:, row, : len(sentence) + 2] - expected).abs().max() < 1e-5
    if not changes.get("word_dim", 3):
        assert weights.vocabulary is None
    else:
        assert weights.vocabulary[:5] == ["<bos>", "<eos>", "<oov>", "<pad>", "the"]


def test_every_way_to_carry_it_on(tmp_path):
    """Zip file, safetensors, options alone; hdf5 has no place for it."""
    folder = many_langs.write(tmp_path / "m")
    weights = read_weights(folder)
    write_weights(weights, tmp_path / "x.safetensors")
    for source in (pack(tmp_path / "144.zip", folder), tmp_path / "x.safetensors"):
        found = read_weights(source)
        assert_same_bits(found.tensors, weights.tensors)
        assert (found.options, found.vocabulary) == (weights.options, weights.vocabulary)
        assert read_options(source) == (weights.options, weights.vocabulary)
    assert read_options(folder) == (weights.options, weights.vocabulary)
    with pytest.raises(
        FormatError, match="the hdf5 layout has no place for a lexicon .*Write such a biLM as .safetens"
    ):
        write_weights(weights, tmp_path / "x.hdf5")
    assert not (tmp_path / "x.hdf5").exists()
    with pytest.raises(FormatError, match="knows its own options, but o.json is given with it"):
        read_pair("o.json", folder)


def test_the_architecture_is_looked_up_by_its_name(tmp_path):
    folder = many_langs.write(tmp_path / "m")
    (folder / "configs" / "small.json").rename(folder / "small.json")
    assert read_options(folder)[0].lstm.dim == 7
    (folder / "config.json").write_text('{"config_path": "C:\\\\models\\\\small.json"}')
    assert read_options(folder)[0].lstm.dim == 7
    (folder / "small.json").rename(folder / "config.json")
    assert read_options(folder)[0].lstm.dim == 7
    (folder / "config.json").write_text('{"config_path": "../../small.json"}')
    with pytest.raises(OptionsError, match=r"'config_path' names '../../small.json', and there is no 'small.json' in"):
        read_options(folder)
    (folder / "config.json").write_text('{"config_path": 5}')
    with pytest.raises(OptionsError, match="key 'config_path' is 5, expected the name of the file"):
        read_options(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(OptionsError, match="config.json: not a JSON text"):
        read_options(folder)


def test_the_published_architecture_needs_no_file(tmp_path):
    folder = many_langs.write(tmp_path / "m")
    (folder / "config.json").write_text('{"config_path": "/users/x/cnn_50_100_512_4096_sample.json"}')
    options, _ = read_options(folder)

    assert (options.lstm.dim, options.lstm.projection_dim, options.lstm.cell_clip) == (4096, 512, 3)
    assert (options.char_cnn.num_filters, options.lexicon.word_dim) == (2048, 100)
    with pytest.raises(WeightFileError, match="m: the tensors do not fit the options: 7|m: the tensors do not fit"):
        read_weights(folder)


@pytest.mark.parametrize(
    "section,key,value,message",
    [
        ("encoder", "name", "lstm", "key 'encoder.name' is 'lstm', expected 'elmo'; no other kind"),
        ("token_embedder", "name", "lstm", "key 'token_embedder.name' is 'lstm', expected 'cnn'; no other kind"),
        ("token_embedder", "char_dim", 0, "key 'token_embedder.char_dim' is 0"),
        ("encoder", "cell_clip", False, "key 'encoder.cell_clip' is False"),
        ("encoder", "n_layers", None, "key 'encoder.n_layers' is missing"),
    ],
)
def test_what_is_not_implemented_is_named(tmp_path, section, key, value, message):
    folder = many_langs.write(tmp_path / "m")
    path = folder / "configs" / "small.json"
    content = json.loads(path.read_text())
    content[section][key] = value
    if value is None:
        del content[section][key]
    path.write_text(json.dumps(content))
    with pytest.raises(OptionsError, match=f"small.json: {message}"):
        read_weights(folder)


@pytest.mark.parametrize(
    "name,content,message",
    [
        ("char.dic", "a\t0\n", "char.dic: has no <bos>, <eos>, <eow>, <bow>, <pad>, <oov>"),
        ("word.dic", "a\t0\n", "word.dic: has no <oov>"),
        ("word.dic", "a\t0\nb\t2\n", "word.dic: 2 different texts with places from 0 to 2, expected each place"),
        ("word.dic", "a\t0\na\t1\n", "word.dic: 1 different texts"),
        ("word.dic", "", "word.dic: 0 different texts"),
        ("word.dic", "a\tb\n", "word.dic: not a list of texts and places"),
        ("word.dic", b"\xff\t0\n", "word.dic: not a list of texts and places in UTF-8"),
        ("word.dic", None, "word.dic: cannot be read"),
        ("word.dic", "<oov>\t0\nmore\t1\n", r"word_emb_layer.embedding.weight +shape +\[10, 3\] +\[2, 3\]"),
        ("encoder.pkl", b"", "encoder.pkl: cannot be read as weights saved by PyTorch"),
    ],
    ids=range(10),
)
def test_files_that_do_not_belong(tmp_path, name, content, message):
    folder = many_langs.write(tmp_path / "m")
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((FormatError, WeightFileError), match=message):
        read_weights(folder)


def test_swapped_pickles_are_told_apart_from_nothing(tmp_path):
    """Both are read into one table of names, so that a swap does no harm."""
    folder = many_langs.write(tmp_path / "m")
    expected = read_weights(folder).tensors
    (folder / "encoder.pkl").rename(folder / "x")
    (folder / "token_embedder.pkl").rename(folder / "encoder.pkl")
    (folder / "x").rename(folder / "token_embedder.pkl")

    assert_same_bits(read_weights(folder).tensors, expected)


def test_begin_of_sentence_that_is_no_word(tmp_path):
    """Then it is an unknown word, as there."""
    folder = many_langs.write(tmp_path / "m")
    kept = [word for word in many_langs.WORDS if word not in ("<bos>", "<eos>")]
    (folder / "word.dic").write_text("".join(f"{word}\t{place}\n" for place, word in enumerate(kept)), encoding="utf-8")
    state = torch.load(folder / "token_embedder.pkl")
    table = state["word_emb_layer.embedding.weight"][: len(kept)].clone()
    torch.save({**state, "word_emb_layer.embedding.weight": table}, folder / "token_embedder.pkl")
    found = read_weights(folder).tensors["token_encoder.word_embedding"]

    assert torch.equal(found[1], table[0]) and torch.equal(found[2], table[0]) and torch.equal(found[3], table[0])


def test_ids_of_another_kind_are_refused(tmp_path):
    weights = read_weights(many_langs.write(tmp_path / "m"))
    bilm = BiLm(weights.options, state="reset")
    with pytest.raises(
        ShapeError, match=r"shape \(1, 2, 12\), expected \(batch, tokens, 14\): this biLM knows words and"
    ):
        bilm(torch.ones(1, 2, 12, dtype=torch.int64))
    ids = SentenceIds(bilm, weights.vocabulary)([["the"]])
    ids[0, 0, 1] = 99
    with pytest.raises(ShapeError, match="ids of words lie between 0 and 99, expected 0 to 10 "):
        bilm(ids)
    ids[0, 0, 1] = -7
    with pytest.raises(ShapeError, match="ids of words lie between -7 and"):
        bilm(ids)
    with pytest.raises(
        OptionsError, match="has a table of words, whose first words are <bos>, <eos>, <oov>, but the voc"
    ):
        SentenceIds(bilm, ["the"])([["the"]])


def test_the_indexer_makes_the_same_ids(tmp_path):
    pytest.importorskip("allennlp")
    from allennlp.common.checks import ConfigurationError
    from allennlp.data import Token, Vocabulary

    from elmo_plugin.token_indexers.elmo import ElmoIndexer

    folder = str(many_langs.write(tmp_path / "m"))
    weights = read_weights(folder)
    bilm = BiLm(weights.options, state="reset")
    indexer = ElmoIndexer(weights=folder)
    for sentence in many_langs.SENTENCES:
        indices = indexer.tokens_to_indices([Token(word) for word in sentence], Vocabulary())
        ids = indexer.as_padded_tensor_dict(indices, {"elmo_tokens": len(sentence)})["elmo_tokens"]
        assert torch.equal(ids, SentenceIds(bilm, weights.vocabulary)([sentence])[0])
    with pytest.raises(ConfigurationError, match="tokens_to_add names bytes"):
        ElmoIndexer(weights=folder, tokens_to_add={"x": 5})


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_gives_our_error_or_numbers(tmp_path, data):
    """PyTorch's files have a checksum over tensors that is not always looked at; nothing else than our errors."""
    folder = tmp_path / "m"
    if not folder.exists():
        many_langs.write(folder)
    name = data.draw(st.sampled_from(["config.json", "char.dic", "word.dic", "token_embedder.pkl", "encoder.pkl"]))
    whole = (folder / name).read_bytes()
    content = bytearray(whole)
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (folder / name).write_bytes(content)
    try:
        read_weights(folder)
    except EngineError as error:
        assert str(folder) in str(error)
    finally:
        (folder / name).write_bytes(whole)
