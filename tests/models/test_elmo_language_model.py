import math
from random import Random

import pytest
import torch
from torch.nn import functional

pytest.importorskip("allennlp")

from allennlp.common.checks import ConfigurationError  # noqa: E402
from allennlp.data import Vocabulary  # noqa: E402
from allennlp.data.data_loaders import MultiProcessDataLoader  # noqa: E402

from elmo_plugin.data_loaders.elmo_corpus import ElmoCorpusLoader  # noqa: E402
from elmo_plugin.dataset_readers.elmo_corpus import ElmoCorpusReader  # noqa: E402
from elmo_plugin.engine.bilm import BiLm  # noqa: E402
from elmo_plugin.engine.characters import batch_to_ids  # noqa: E402
from elmo_plugin.engine.errors import ShapeError  # noqa: E402
from elmo_plugin.formats import read_weights, write_weights  # noqa: E402
from elmo_plugin.models.elmo_language_model import ElmoLanguageModel  # noqa: E402
from elmo_plugin.vocabularies.elmo_corpus import ElmoCorpusVocabulary  # noqa: E402
from tests.formats import many_langs  # noqa: E402

OPTIONS = {
    "lstm": {
        "dim": 32,
        "projection_dim": 16,
        "n_layers": 2,
        "cell_clip": 3,
        "proj_clip": 3,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 8], [2, 8], [3, 16]],
        "n_highway": 1,
        "n_characters": 262,
        "max_characters_per_token": 20,
    },
}


def sentences(count, n_words=30, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        [f"w{int(i)}" for i in torch.randint(0, n_words, (int(length),), generator=generator)]
        for length in torch.randint(2, 9, (count,), generator=generator)
    ]


def write(path, text):
    path.write_text("".join(" ".join(words) + "\n" for words in text), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path):
    return write(tmp_path / "text", sentences(50))


def make(corpus, rows=4, steps=5, shuffle=False, word_level=False, model=(), **changes):
    torch.manual_seed(0)
    vocab = ElmoCorpusVocabulary.from_corpus(corpus=str(corpus))
    reader = ElmoCorpusReader(max_characters_per_token=20, word_level=word_level)
    loader = ElmoCorpusLoader(reader, corpus, batch_size=rows, unroll_steps=steps, shuffle=shuffle)
    loader.index_with(vocab)
    options = {**OPTIONS, **changes}
    parameters = {"n_negative_samples": min(8, vocab.get_vocab_size("elmo_lm") - 1), "dropout": 0.0, **dict(model)}
    return ElmoLanguageModel(vocab, options, **parameters), loader


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for batch in loader:
            model(**batch)
    return model.get_metrics(reset=True)


def train(model, loader, epochs, lr):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        model.streams.reset(training=True)  # as an evaluation starts
        for batch in loader:
            optimizer.zero_grad()
            model(**batch)["loss"].backward()
            optimizer.step()


def test_batches_of_another_data_loader_are_refused(corpus):
    model, _ = make(corpus)
    loader = MultiProcessDataLoader(ElmoCorpusReader(), str(corpus), batch_size=2)
    loader.index_with(model.vocab)

    with pytest.raises(ConfigurationError, match='Give the data loaders "type": "elmo_corpus"'):
        model(**next(iter(loader)))


def test_untrained_perplexity_is_about_the_vocabulary_size(corpus):
    model, loader = make(corpus)
    metrics = evaluate(model, loader)

    assert metrics["perplexity"] == pytest.approx(len(model.words), rel=0.15)
    assert metrics["tokens"] == sum(len(words) + 1 for words in sentences(50))


@pytest.mark.parametrize("parameters", [{}, {"n_negative_samples": None, "adaptive_cutoffs": [5]}], ids=str)
def test_autocast_changes_no_loss_and_no_perplexity(corpus, parameters):
    """A trainer with `use_amp`: the best weights are chosen by the perplexity."""
    found = []
    for enabled in (False, True):
        model, loader = make(corpus, model=parameters)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
            loss = model(**next(iter(loader)))["loss"]
            metrics = evaluate(model, loader)
        loss.backward()
        gradient = model.bilm.lstm.forward_layers[0].bias.grad
        found.append((float(loss.detach()), metrics["perplexity"], gradient.tolist()))

    assert found[0] == found[1]


@pytest.mark.parametrize(
    "kind", [pytest.param("characters, sampled softmax", marks=pytest.mark.slow), "words, full softmax"]
)
def test_learns_fifty_sentences_by_heart(tmp_path, kind):
    random = Random(0)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=4)) for _ in range(100)]
    corpus = write(tmp_path / "text", [random.sample(words, 9) for _ in range(50)])
    lstm = {**OPTIONS["lstm"], "dim": 128, "projection_dim": 64}
    if kind.startswith("words"):
        n_words = len(ElmoCorpusVocabulary.from_corpus(corpus=str(corpus)).get_token_to_index_vocabulary("elmo_lm"))
        options = {"lstm": lstm, "char_cnn": None, "n_tokens_vocab": n_words}
        schedule, negatives = [(0.01, 40), (0.005, 10)], None
    else:
        cnn = {**OPTIONS["char_cnn"], "embedding": {"dim": 8}, "filters": [[1, 16], [2, 32], [3, 32]]}
        options = {"lstm": lstm, "char_cnn": cnn}
        schedule, negatives = [(0.01, 130), (0.0025, 30)], 60
    # 500 tokens in 25 streams: one batch
    parameters = {"n_negative_samples": negatives}
    model, loader = make(corpus, rows=25, steps=20, word_level=kind.startswith("words"), model=parameters, **options)
    for lr, epochs in schedule:
        train(model, list(loader), epochs, lr)
    metrics = evaluate(model, loader)

    # Nothing tells the first word of a stream: 25 of 500 words at odds of 25 to 1 leave a perplexity of 1.175.
    assert 1.15 < metrics["perplexity_forward"] < 1.3
    assert 1.15 < metrics["perplexity_backward"] < 1.3


def test_perplexity_is_weighted_by_tokens(tmp_path):
    """Two batches of one and nine tokens: each token counts the same."""
    corpus = write(tmp_path / "text", [["a", "b", "c", "d", "e", "a", "b", "c", "d"]])
    model, loader = make(corpus, rows=1, steps=9, model={"n_negative_samples": None})
    sizes = [batch["forward_targets"].numel() for batch in loader]
    assert sizes == [9, 1]
    metrics = evaluate(model, loader)
    whole = evaluate(model, make(corpus, rows=1, steps=10)[1])

    assert metrics["tokens"] == 10
    assert metrics["perplexity_forward"] == pytest.approx(whole["perplexity_forward"], rel=1e-5)
    assert metrics["perplexity_backward"] == pytest.approx(whole["perplexity_backward"], rel=1e-5)
    assert metrics["perplexity"] == pytest.approx(
        math.sqrt(metrics["perplexity_forward"] * metrics["perplexity_backward"])
    )


def test_perplexity_by_hand_without_weights(tmp_path):
    """All weights zero, biases given: every word has the probability that the biases say."""
    corpus = write(tmp_path / "text", [["a", "a", "b"]])
    model, loader = make(corpus, rows=1, model={"n_negative_samples": None})
    assert model.words == ["<S>", "</S>", "<UNK>", "a", "b"]
    torch.nn.init.zeros_(model.softmax.weight)
    probabilities = torch.tensor([0.1, 0.2, 0.1, 0.5, 0.1])
    model.softmax.bias.data = probabilities.log()
    metrics = evaluate(model, loader)

    assert metrics["perplexity_forward"] == pytest.approx((0.5 * 0.5 * 0.1 * 0.2) ** (-1 / 4))  # a a b </S>
    assert metrics["perplexity_backward"] == pytest.approx((0.1 * 0.5 * 0.5 * 0.1) ** (-1 / 4))  # b a a <S>


def test_perplexity_by_hand_of_a_uniform_model(corpus):
    model, loader = make(corpus, model={"n_negative_samples": None})
    torch.nn.init.zeros_(model.softmax.weight)
    metrics = evaluate(model, loader)

    for name in ("perplexity", "perplexity_forward", "perplexity_backward"):
        assert metrics[name] == pytest.approx(33.0)


def test_perplexity_equals_sentence_by_sentence_loop(tmp_path):
    """One row, any cut: the same as running the whole text step by step and torch's cross-entropy."""
    corpus = write(tmp_path / "text", sentences(6))
    model, loader = make(corpus, rows=1, steps=7)
    metrics = evaluate(model, loader)
    vectors, targets = {"forward": [], "backward": []}, {"forward": [], "backward": []}
    for batch in make(corpus, rows=1, steps=1000)[1]:
        encoded = model.bilm.token_encoder(batch["words"])
        for name in vectors:
            vectors[name] = encoded[batch[f"{name}_inputs"]]
            targets[name] = batch[f"{name}_targets"][0]
    state, losses = None, {"forward": [], "backward": []}
    with torch.no_grad():
        for step in range(len(targets["forward"])):
            cut = [vectors[name][:, step : step + 1] for name in ("forward", "backward")]
            *tops, state = model.bilm.lstm.run_streams(*cut, state)
            for name, top in zip(losses, tops):
                scores = functional.linear(top[0], model.softmax.weight, model.softmax.bias)
                losses[name].append(functional.cross_entropy(scores, targets[name][step : step + 1]))

    for name in losses:
        expected = math.exp(torch.stack(losses[name]).double().mean())
        assert metrics[f"perplexity_{name}"] == pytest.approx(expected, rel=1e-5)


def test_training_metrics_are_no_perplexities(corpus):
    model, loader = make(corpus)
    model.train()
    output = model(**next(iter(loader)))
    metrics = model.get_metrics()

    assert set(metrics) == {"sampled_loss_forward", "sampled_loss_backward", "tokens", "unknown_rate"}
    losses = metrics["sampled_loss_forward"] + metrics["sampled_loss_backward"]
    assert float(output["loss"].detach()) == pytest.approx(losses / 2, rel=1e-5)
    full, loader = make(corpus, model={"n_negative_samples": None})
    full.train()(**next(iter(loader)))
    assert set(full.get_metrics()) == {"loss_forward", "loss_backward", "tokens", "unknown_rate"}


def test_evaluation_leaves_the_state_of_training_alone(corpus):
    model, loader = make(corpus)
    batches = list(loader)
    model.train()
    model(**batches[0])
    state = model.streams.get(True, 4, model.softmax.weight)
    first = evaluate(model, loader)
    again = evaluate(model, loader)
    model.train()

    assert first == again
    assert model.streams.get(True, 4, model.softmax.weight).hidden.equal(state.hidden)
    assert model.streams.get(True, 4, model.softmax.weight).cell.equal(state.cell)


def test_state_is_carried_in_training_and_cut_from_the_graph(corpus):
    model, loader = make(corpus, model={"n_negative_samples": None})
    first, second = list(loader)[:2]
    model.train()
    model(**first)
    carried = float(model(**second)["loss"].detach())
    fresh = float(make(corpus, model={"n_negative_samples": None})[0].train()(**second)["loss"].detach())

    assert carried != fresh
    assert not model.streams.get(True, 4, model.softmax.weight).hidden.requires_grad


def test_state_of_training_is_in_the_checkpoint(corpus):
    model, loader = make(corpus)
    batches = list(loader)
    model.train()(**batches[0])
    other, _ = make(corpus)
    other.load_state_dict(model.state_dict())
    torch.manual_seed(7)
    expected = model.train()(**batches[1])["loss"]
    torch.manual_seed(7)

    assert other.train()(**batches[1])["loss"].equal(expected)


def test_checkpoint_without_state_or_record_loads(corpus):
    model, _ = make(corpus)
    state = {name: tensor for name, tensor in model.state_dict().items() if name != "_extra_state"}
    make(corpus)[0].load_state_dict(state)


def test_checkpoint_of_another_vocabulary_is_refused(corpus, tmp_path):
    model, _ = make(corpus)
    other, _ = make(write(tmp_path / "other", [["x", "y", "z"]]))
    with pytest.raises(
        ConfigurationError, match=r"another vocabulary \(33 words\) than the configuration's \(6 words\)"
    ):
        other.set_extra_state(model.get_extra_state())


def test_loss_scale_scales_the_training_loss_only(corpus):
    losses = []
    for scale in (1.0, 20.0):
        model, loader = make(corpus, model={"loss_scale": scale, "n_negative_samples": None})
        batch = next(iter(loader))
        losses.append((float(model.train()(**batch)["loss"].detach()), float(model.eval()(**batch)["loss"].detach())))

    assert losses[1][0] == pytest.approx(20 * losses[0][0], rel=1e-5)
    assert losses[1][1] == pytest.approx(losses[0][0], rel=1e-5)


def test_dropout_acts_in_training_only(corpus):
    model, loader = make(corpus, model={"dropout": 0.5, "n_negative_samples": None})
    batch = next(iter(loader))

    def loss():
        model.streams.reset(True)
        model.streams.reset(False)
        return float(model(**batch)["loss"].detach())

    model.train()
    assert loss() != loss()
    model.eval()
    assert loss() == loss()


def test_every_parameter_has_a_gradient(corpus):
    model, loader = make(corpus)
    model.train()
    for batch in list(loader)[:2]:
        model(**batch)["loss"].backward()

    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name
    assert not model.bilm.token_encoder.char_embedding.grad[0].any()


def test_not_a_number_stops_with_the_step(corpus):
    model, loader = make(corpus)
    model.train()
    batches = list(loader)
    model(**batches[0])
    model.softmax.bias.data[:] = float("nan")
    message = r"nan in training step 2, in the batch whose first row ends in '.*w\d.*'; .*good checkpoint is none"
    with pytest.raises(FloatingPointError, match=message):
        model(**batches[1])
    model.eval()
    with pytest.raises(FloatingPointError, match="in evaluation"):
        model(**batches[1])


def test_unknown_rate(tmp_path):
    corpus = write(tmp_path / "text", [["a", "b"], ["a", "c"]])
    model, _ = make(corpus)
    test = write(tmp_path / "test", [["a", "x", "y"]])
    loader = ElmoCorpusLoader(ElmoCorpusReader(max_characters_per_token=20), test, batch_size=1, shuffle=False)
    loader.index_with(model.vocab)

    assert evaluate(model, loader)["unknown_rate"] == 0.5  # of a x y </S>


@pytest.mark.parametrize("suffix", ["hdf5", "safetensors"])
def test_weights_go_out_and_come_back(corpus, tmp_path, suffix):
    model, _ = make(corpus)
    write_weights(model.weight_set(ordinary_text=sentences(20)), tmp_path / f"weights.{suffix}")
    weights = read_weights(tmp_path / f"weights.{suffix}")

    assert weights.vocabulary == model.words
    assert weights.options.lstm == model.options.lstm
    for name, tensor in model.bilm.state_dict().items():
        assert weights.tensors[name].equal(tensor), name
    for name, tensor in model.softmax.state_dict().items():
        assert weights.softmax[name].equal(tensor), name
    assert weights.tensors["warm.hidden"].shape == (2, 32) and weights.tensors["warm.hidden"].any()
    warm = BiLm(weights.options, state="warm")
    warm.load_tensors(weights.tensors, "test")
    assert warm(batch_to_ids([["w1"]], 20)).layers.isfinite().all()


def test_warm_state_of_a_word_level_model(corpus):
    model, _ = make(corpus, word_level=True, char_cnn=None, n_tokens_vocab=33)
    weights = model.weight_set(ordinary_text=sentences(20) + [["new"]])
    weights.check()

    assert weights.tensors["warm.cell"].shape == (2, 64)


def test_wrong_row_length_is_named(corpus):
    model, _ = make(corpus)
    words = torch.ones(3, 50, dtype=torch.long)
    places = torch.zeros(1, 1, dtype=torch.long)
    with pytest.raises(ShapeError, match=r"words have 50 characters .*expects 20"):
        model(words, places, places, places, places)


def test_vocabulary_mistakes_are_named(corpus):
    vocab = ElmoCorpusVocabulary.from_corpus(corpus=str(corpus))
    with pytest.raises(ConfigurationError, match="n_tokens_vocab 99, but the vocabulary has 33"):
        ElmoLanguageModel(vocab, {**OPTIONS, "n_tokens_vocab": 99})
    with pytest.raises(ConfigurationError, match="'elmo_lm' starts with"):
        ElmoLanguageModel(Vocabulary(), OPTIONS)
    with pytest.raises(ValueError, match="8192 negative samples from a vocabulary of 33 words"):
        ElmoLanguageModel(vocab, OPTIONS)


def test_adaptive_softmax(corpus):
    """Trains and is scored by exact losses; there is no softmax to write to a weight file."""
    parameters = {"n_negative_samples": None, "adaptive_cutoffs": [8, 20]}
    model, loader = make(corpus, model=parameters)
    before = evaluate(model, loader)["perplexity"]
    train(model, loader, 3, 0.01)
    assert set(model.train().get_metrics()) == {"loss_forward", "loss_backward", "tokens", "unknown_rate"}
    assert evaluate(model, loader)["perplexity"] < before
    weights = model.weight_set()
    weights.check()
    assert weights.softmax is None
    make(corpus, model=parameters)[0].load_state_dict(model.state_dict())
    with pytest.raises(ConfigurationError, match=r"adaptive_cutoffs \[8\] and n_negative_samples 5 ask for two kinds"):
        make(corpus, model={"n_negative_samples": 5, "adaptive_cutoffs": [8]})


def test_state_reset_begins_each_batch_at_zero(corpus):
    model, loader = make(corpus, model={"n_negative_samples": None, "state": "reset"})
    batch = next(iter(loader))
    model.train()

    assert model(**batch)["loss"].equal(model(**batch)["loss"])


def test_state_warm_begins_each_batch_there(corpus, tmp_path):
    model, loader = make(corpus)
    write_weights(model.weight_set(ordinary_text=sentences(20)), tmp_path / "weights.safetensors")
    write_weights(model.weight_set(), tmp_path / "cold.safetensors")
    batch = next(iter(loader))
    losses = {}
    for state in ("reset", "warm"):
        weights = str(tmp_path / "weights.safetensors")
        other = ElmoLanguageModel(model.vocab, weights=weights, state=state, n_negative_samples=None).eval()
        losses[state] = [float(other(**batch)["loss"].detach()) for _ in range(2)]

    assert losses["warm"][0] == losses["warm"][1] != losses["reset"][0] == losses["reset"][1]
    with pytest.raises(ConfigurationError, match='"warm" needs weights that bring a warm state'):
        ElmoLanguageModel(
            model.vocab, weights=str(tmp_path / "cold.safetensors"), state="warm", n_negative_samples=None
        )


def test_a_row_that_ends_early_keeps_its_state(corpus):
    """Places without a token are not run: a row's state is that behind its last token."""
    model, _ = make(corpus, model={"n_negative_samples": None})
    words = torch.randint(1, 200, (6, 20))
    inputs = torch.tensor([[0, 1, 2, 3], [4, 5, 0, 0]])
    targets = torch.tensor([[3, 4, 5, 1], [6, 1, -100, -100]])
    model.eval()
    model(words, inputs, inputs, targets, targets)
    state = model.streams.get(False, 2, model.softmax.weight)
    model.streams.reset(False)
    model(words, inputs[1:, :2], inputs[1:, :2], targets[1:, :2], targets[1:, :2])
    alone = model.streams.get(False, 1, model.softmax.weight)

    torch.testing.assert_close(state.hidden[:, 1:], alone.hidden)
    torch.testing.assert_close(state.cell[:, 1:], alone.cell)


def test_batch_without_tokens_changes_nothing(corpus):
    """Of a process whose text has ended before that of the others."""
    model, loader = make(corpus, rows=2)
    model.train()
    model(**next(iter(loader)))
    state, metrics = model.streams.get(True, 2, model.softmax.weight), model.get_metrics()
    words, places = torch.ones(1, 20, dtype=torch.long), torch.zeros(2, 1, dtype=torch.long)
    loss = model(words, places, places, places - 100, places - 100)["loss"]
    loss.backward()

    assert float(loss.detach()) == 0 and model.get_metrics() == metrics
    assert model.streams.get(True, 2, model.softmax.weight).hidden.equal(state.hidden)
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in model.parameters())


def test_the_words_of_a_word_level_model_are_counted(corpus):
    model, _ = make(corpus, word_level=True, char_cnn=None)
    assert model.options.n_tokens_vocab == 33


def test_options_or_weights(corpus):
    vocab = ElmoCorpusVocabulary.from_corpus(corpus=str(corpus))
    for parameters in ({}, {"options": OPTIONS, "weights": "builtin"}):
        with pytest.raises(ConfigurationError, match="either the options of a new biLM, or the weights"):
            ElmoLanguageModel(vocab, **parameters)
    with pytest.raises(ConfigurationError, match="new_softmax belongs to weights"):
        ElmoLanguageModel(vocab, OPTIONS, new_softmax=True)


def test_the_softmax_of_weights_does_not_become_an_adaptive_one(corpus, tmp_path):
    model, _ = make(corpus)
    write_weights(model.weight_set(), tmp_path / "weights.safetensors")
    parameters = {"weights": str(tmp_path / "weights.safetensors"), "n_negative_samples": None, "adaptive_cutoffs": [8]}
    with pytest.raises(ConfigurationError, match="the softmax of .* cannot become an adaptive one"):
        ElmoLanguageModel(model.vocab, **parameters)
    ElmoLanguageModel(model.vocab, new_softmax=True, **parameters)


@pytest.mark.parametrize("word_dim", [0, 3])
def test_a_bilm_that_does_not_read_bytes_is_refused(corpus, tmp_path, word_dim):
    folder = many_langs.write(tmp_path / "m", word_dim=word_dim)
    vocab = ElmoCorpusVocabulary.from_corpus(corpus=str(corpus))

    with pytest.raises(ConfigurationError, match="characters by name"):
        ElmoLanguageModel(vocab, weights=str(folder), new_softmax=True, n_negative_samples=8)
