"""The coreference model: AllenNLP's on single sentences, and what is different on documents."""

import pytest
import torch

pytest.importorskip("allennlp_models.coref")

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Batch, DatasetReader, Vocabulary
from allennlp.models import Model
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_plugin.models._crossing import choose
from elmo_plugin.models._documents import SentenceEmbedder
from elmo_plugin.token_embedders.elmo import ElmoEmbedder
from tests import task_data, tiny

WORD, HIDDEN, FEATURE = 6, 3, 4
SPAN = 4 * HIDDEN + FEATURE + WORD
OTHER = [[("Bonn", "NNP", "(TOP(NP*)", "-", "*", "(1)"), ("sleeps", "VBZ", "*)", "-", "*", "-")]]


def read(tmp_path, *documents, kind="coref_sentences"):
    path = tmp_path / "a.gold_conll"
    path.write_text("".join(documents), encoding="utf-8")
    return list(DatasetReader.from_params(Params({"type": kind, "max_span_width": 3})).read(str(path)))


def build(vocab, kind="sentence_coref", features=3, **changes):
    def scorer(inputs):
        return {"input_dim": inputs, "num_layers": 1, "hidden_dims": 12, "activations": "relu"}

    torch.manual_seed(0)
    parameters = {
        "type": kind,
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": WORD}}},
        "context_layer": {"type": "lstm", "input_size": WORD, "hidden_size": HIDDEN, "bidirectional": True},
        "mention_feedforward": scorer(SPAN),
        "antecedent_feedforward": scorer(3 * SPAN + features * FEATURE),
        "feature_size": FEATURE,
        "max_span_width": 3,
        "spans_per_word": 0.5,
        "max_antecedents": 10,
        "lexical_dropout": 0.0,
        **changes,
    }
    return Model.from_params(vocab=vocab, params=Params(parameters)).eval()


def run(model, instances):
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    return model(**batch.as_tensor_dict())


def test_equals_allennlp_on_single_sentences_without_the_features(tmp_path):
    """
    With all spans kept, so that none is left out for crossing another, and heads of which no word is more than others.
    """
    instances = read(tmp_path, task_data.conll("nw/a", task_data.SENTENCES[:1]))
    vocab = Vocabulary.from_instances(instances)
    ours, theirs = build(vocab, spans_per_word=9.0), build(vocab, "coref", features=1, spans_per_word=9.0)
    names = {
        "_attentive_span_extractor": "_extractor.",
        "_mention_feedforward": "_module.",
        "_mention_scorer": "_scorer.",
    }
    names.update(_text_field_embedder="_embedder.", _context_layer="_encoder.")
    torch.nn.init.zeros_(theirs._attentive_span_extractor._global_attention._module.weight)
    torch.nn.init.zeros_(ours._attentive_span_extractor._extractor._global_attention._scorer.weight)
    state = ours.state_dict()
    for name, tensor in theirs.state_dict().items():
        if "_global_attention" in name:  # of other columns
            continue
        part = name.split(".")[0]
        name = name.replace(part + ".", f"{part}.{names.get(part, '')}", 1)
        if state[name].shape != tensor.shape:  # the columns of the two features
            tensor = torch.cat([tensor, tensor.new_zeros(len(tensor), 2 * FEATURE)], dim=1)
        state[name] = tensor
    ours.load_state_dict(state)

    found, expected = run(ours, instances), run(theirs, instances)

    torch.testing.assert_close(found["loss"], expected["loss"])
    assert torch.equal(found["predicted_antecedents"], expected["predicted_antecedents"])


def contextual(model, instances):
    seen = []
    hook = model._context_layer.register_forward_hook(lambda *arguments: seen.append(arguments[-1]))
    run(model, instances)
    hook.remove()
    return seen[0]


def test_sentence_does_not_depend_on_the_rest_of_the_document(tmp_path):
    long = read(tmp_path, task_data.conll("nw/a"))
    short = read(tmp_path, task_data.conll("nw/a", task_data.SENTENCES[1:]))
    model = build(Vocabulary.from_instances(long))

    torch.testing.assert_close(contextual(model, long)[:, 5:], contextual(model, short))


def test_more_than_one_document_is_refused(tmp_path):
    """AllenNLP's model lets them change each other's clusters, and the loss is not a number."""
    instances = read(tmp_path, task_data.conll("nw/a"), task_data.conll("bc/b", OTHER))

    with pytest.raises(ConfigurationError, match="a batch of 2 documents, expected one.*--batch-size 1"):
        run(build(Vocabulary.from_instances(instances)), instances)


@pytest.mark.parametrize("words,share", [(1, 0.4), (1, 9.0), (2, 0.4)])
def test_a_document_of_one_or_two_words_has_no_clusters(words, share):
    """A span is kept where the product with the words is rounded to none, and the only one not twice."""
    reader = DatasetReader.from_params(Params({"type": "coref_sentences", "max_span_width": 3}))
    instances = [reader.text_to_instance([["Bonn", "sleeps"][:words]], clusters) for clusters in ([], None)]
    model = build(Vocabulary.from_instances(instances), spans_per_word=share).train()

    output, predicted = run(model, instances[:1]), run(model, instances[1:])
    output["loss"].backward()

    assert output["loss"] == 0
    assert all(torch.isfinite(tensor.grad).all() for tensor in model.parameters() if tensor.grad is not None)
    for outputs in (output, predicted):
        assert outputs["top_spans"].shape == (1, 1, 2) and outputs["top_spans"].max() < words
        assert model.make_output_human_readable(outputs)["clusters"] == [[]]


@pytest.mark.parametrize("share,number", [(0.01, 1), (0.3, 2), (0.34, 3), (1.0, 9), (9.0, 21)])
def test_spans_that_are_kept(tmp_path, share, number):
    """Of nine words and 21 candidates: rounded down, as in AllenNLP's model."""
    instances = read(tmp_path, task_data.conll("nw/a"))
    model = build(Vocabulary.from_instances(instances), spans_per_word=share)

    for _ in range(2):
        assert run(model, instances)["top_spans"].shape == (1, number, 2)


def test_memory_is_bounded_by_parts(tmp_path):
    """60 sentences at most 10 tokens at once, and the result of all at once."""
    instances = read(tmp_path, task_data.conll("nw/a", task_data.SENTENCES * 30))
    vocab = Vocabulary.from_instances(instances)
    model, whole = build(vocab, max_tokens_at_once=10), build(vocab, max_tokens_at_once=10**6)
    assert isinstance(model._text_field_embedder, SentenceEmbedder)
    sizes = []
    model._text_field_embedder._embedder.register_forward_hook(
        lambda *arguments: sizes.append(arguments[-1].shape[:2].numel())
    )

    found, expected = run(model, instances), run(whole, instances)

    assert len(sizes) == 30 and max(sizes) <= 10
    torch.testing.assert_close(found["loss"], expected["loss"])


def test_elmo_of_a_long_document_is_that_of_its_sentences_in_bounded_parts(tmp_path):
    """What the biLM holds does not grow with the document, and a sentence's vectors are those of the sentence alone."""
    tiny.write(tmp_path / "bilm")
    bilm = {"type": "elmo", "weights": str(tmp_path / "bilm")}
    path = tmp_path / "a.gold_conll"
    seen, embedded = {}, {}
    for number in (2, 40):
        path.write_text(task_data.conll("nw/a", task_data.SENTENCES * (number // 2)), encoding="utf-8")
        reading = {"type": "coref_sentences", "max_span_width": 3, "token_indexers": {"bilm": dict(bilm)}}
        instances = list(DatasetReader.from_params(Params(reading)).read(str(path)))
        model = build(
            Vocabulary.from_instances(instances),
            text_field_embedder={"token_embedders": {"bilm": {**bilm, "state": "reset", "dropout": 0.0}}},
            context_layer={"type": "lstm", "input_size": 12, "hidden_size": HIDDEN, "bidirectional": True},
            mention_feedforward={"input_dim": SPAN + 6, "num_layers": 1, "hidden_dims": 12, "activations": "relu"},
            antecedent_feedforward={
                "input_dim": 3 * (SPAN + 6) + 3 * FEATURE,
                "num_layers": 1,
                "hidden_dims": 12,
                "activations": "relu",
            },
            max_tokens_at_once=10,
        )
        sizes = seen.setdefault(number, [])
        (elmo,) = (module for module in model.modules() if isinstance(module, ElmoEmbedder))
        elmo.register_forward_hook(lambda *arguments, sizes=sizes: sizes.append(arguments[-1].shape))
        model._text_field_embedder.register_forward_hook(
            lambda *arguments, number=number: embedded.update({number: arguments[-1]})
        )
        run(model, instances)

    assert len(seen[40]) == 20 * len(seen[2]) and {shape[0] * shape[1] for shape in seen[40]} == {10}
    torch.testing.assert_close(embedded[40], embedded[2].repeat(1, 20, 1), rtol=0, atol=1e-6)


def test_heads_are_found_by_what_the_context_layer_says(tmp_path):
    """Of the paper's model; AllenNLP's finds them by the embedded words."""
    instances = read(tmp_path, task_data.conll("nw/a"))
    model = build(Vocabulary.from_instances(instances))
    heads = model._attentive_span_extractor._extractor._global_attention
    scored = []
    heads.register_forward_hook(lambda *arguments: scored.append(arguments[-1]))
    context = contextual(model, instances)

    torch.testing.assert_close(scored[0], context @ heads._scorer.weight.T + heads._scorer.bias)
    assert scored[0].shape == (1, 9, 1)


@pytest.mark.parametrize("genre", ["xx", None])
def test_a_genre_that_the_vocabulary_did_not_have_says_nothing(tmp_path, genre):
    instances = read(tmp_path, task_data.conll("nw/a"), task_data.conll("bc/b", OTHER))
    model = build(Vocabulary.from_instances(instances))
    model.vocab.add_token_to_namespace("xx", "genre_tags")  # as by fine-tuning on other documents
    (instance,) = instances[:1]
    known = run(model, [instance])["loss"]
    instance["metadata"].metadata["genre"] = genre
    unknown = run(model, [instance])["loss"]
    model._genre_embedding.weight.data.zero_()

    assert not torch.equal(unknown, known)
    assert torch.equal(run(model, [instance])["loss"], unknown)


@pytest.mark.parametrize("feature", ["_speaker_embedding", "_genre_embedding"])
def test_features_count(tmp_path, feature):
    instances = read(tmp_path, task_data.conll("nw/a"), task_data.conll("bc/b", OTHER))[:1]
    model = build(Vocabulary.from_instances(instances))
    before = run(model, instances)["loss"]

    getattr(model, feature).weight.data.add_(5.0)

    assert not torch.allclose(run(model, instances)["loss"], before)


def test_same_speaker_is_told_from_another(tmp_path):
    (instance,) = read(tmp_path, task_data.conll("nw/a"))
    model = build(Vocabulary.from_instances([instance]))
    before = run(model, [instance])["loss"]

    instance["metadata"].metadata["speakers"] = [0] * 9

    assert not torch.equal(run(model, [instance])["loss"], before)


def test_learns_a_document(tmp_path):
    instances = read(tmp_path, task_data.conll("nw/a"))
    model = build(Vocabulary.from_instances(instances), spans_per_word=1.5).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(200):
        optimizer.zero_grad()
        run(model, instances)["loss"].backward()
        optimizer.step()
    model.get_metrics(reset=True)
    run(model.eval(), instances)

    assert model.get_metrics()["coref_f1"] == 1.0


def test_another_reader_is_refused(tmp_path):
    instances = read(tmp_path, task_data.conll("nw/a"), kind="coref")

    with pytest.raises(ConfigurationError, match='dataset reader "coref_sentences"'):
        run(build(Vocabulary.from_instances(instances)), instances)


def test_parameters_of_another_model_and_widths_are_refused(tmp_path):
    vocab = Vocabulary.from_instances(read(tmp_path, task_data.conll("nw/a")))

    with pytest.raises(ConfigurationError, match='"spans_per_word" is 0, expected more than 0'):
        build(vocab, spans_per_word=0)
    with pytest.raises(ConfigurationError, match="coarse_to_fine"):
        build(vocab, coarse_to_fine=True)
    with pytest.raises(ConfigurationError, match='"antecedent_feedforward" takes 70 columns, expected 78'):
        build(vocab, features=1)


spans_of = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 4)).map(lambda pair: (pair[0], sum(pair))), unique=True, max_size=15
)


@settings(deadline=None)
@given(spans_of, st.integers(0, 15))
def test_chosen_spans_do_not_cross(spans, number):
    chosen = choose(range(len(spans)), spans, number)

    def cross(a, b):
        return a[0] < b[0] <= a[1] < b[1] or b[0] < a[0] <= b[1] < a[1]

    expected = []
    for index in range(len(spans)):
        if len(expected) < number and not any(cross(spans[index], spans[other]) for other in expected):
            expected.append(index)
    rest = [index for index in range(len(spans)) if index not in expected]
    assert chosen == expected + rest[: number - len(expected)]
