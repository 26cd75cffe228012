"""
Make `bilm_tf_step.npz`: one training step of bilm-tf itself, for tests/models/test_bilm_tf.py.

Run by hand with Python 3.7 and `bilm==0.1.post5 tensorflow==1.15.5 numpy<1.19 h5py<3 protobuf<3.21`, from the root:

    PYTHON tests/models/bilm_tf_step.py tests/models/bilm_tf_step.npz

Weights, text and first state come from seeds of NumPy's frozen generator; the file holds what bilm-tf makes of them.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from tests import tiny  # noqa: E402

ROWS, STEPS, NEGATIVES, CHARACTERS = 3, 4, 8, 12
UNROLL_SCALE, CLIP, LEARNING_RATE = 20, 10.0, 0.2
TEXT = [["the", "cat", "sat"], ["naïve", "dogs", "the"], ["unknown", "the", "extraordinarily"]]
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat", "sat", "naïve", "dogs", "extraordinarily"] + [f"w{i}" for i in range(21)]
SIZES = {"filters": ((1, 4), (2, 5), (3, 7)), "characters": CHARACTERS, "highways": 1}


def start():
    """The weights under their names in bilm-tf's hdf5 files, the softmax, and the first LSTM state of each layer."""
    content = tiny.options(**SIZES)
    weights = tiny.datasets(content, seed=3)
    random = np.random.RandomState(4)
    cells, projection = content["lstm"]["dim"], content["lstm"]["projection_dim"]
    weights["softmax/W"] = (random.standard_normal((len(WORDS), projection)) * 0.4).astype("float32")
    weights["softmax/b"] = (random.standard_normal(len(WORDS)) * 0.4).astype("float32")
    shapes = [(direction, layer) for direction in range(2) for layer in range(content["lstm"]["n_layers"])]
    state = {
        place: [(random.standard_normal((ROWS, width)) * 0.5).astype("float32") for width in (cells, projection)]
        for place in shapes
    }
    return content, weights, state


def variable_name(name):
    """What the training graph calls a dataset of an hdf5 file."""
    name = name.replace("/RNN/MultiRNNCell/Cell", "/rnn/multi_rnn_cell/cell_").replace("LSTMCell", "lstm_cell")
    return "lm/" + name.replace("/W_0", "/kernel").replace("/W_P_0", "/projection/kernel").replace("/B", "/bias")


def main(target):
    import tensorflow as tf
    from bilm import training
    from bilm.data import UnicodeCharsVocabulary

    content, weights, state = start()
    options = dict(
        content,
        bidirectional=True,
        dropout=0.0,
        n_tokens_vocab=len(WORDS),
        batch_size=ROWS,
        unroll_steps=STEPS,
        n_negative_samples_batch=NEGATIVES,
    )
    options["char_cnn"] = dict(content["char_cnn"], n_characters=261)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("\n".join(WORDS) + "\n")
    vocabulary = UnicodeCharsVocabulary(file.name, CHARACTERS)
    Path(file.name).unlink()
    feed_text = {}
    samples = []
    real_loss = tf.nn.sampled_softmax_loss

    def recorded_loss(table, bias, labels, inputs, n_samples, n_words, num_true):
        sampled = tf.nn.log_uniform_candidate_sampler(labels, num_true, n_samples, True, n_words, seed=7 + len(samples))
        samples.append(sampled)
        return real_loss(table, bias, labels, inputs, n_samples, n_words, num_true, sampled_values=sampled)

    tf.nn.sampled_softmax_loss = recorded_loss
    result = {}
    for kind in ("full", "sampled"):
        tf.reset_default_graph()
        tf.set_random_seed(1)
        with tf.variable_scope("lm"):
            model = training.LanguageModel(dict(options, sample_softmax=kind == "sampled"), is_training=True)
        feed_text = feeds(model, vocabulary)
        for direction, layers in enumerate(model.init_lstm_state):
            for layer, (cell, hidden) in enumerate(layers):
                feed_text.update({cell: state[direction, layer][0], hidden: state[direction, layer][1]})
        variables = {name: tf.get_default_graph().get_tensor_by_name(variable_name(name) + ":0") for name in weights}
        by_name = {variable.op.name: variable for variable in tf.trainable_variables()}
        assert sorted(by_name) == sorted(map(variable_name, weights)), sorted(by_name)
        trained = [by_name[variable_name(name)] for name in weights]
        gradients = [tf.convert_to_tensor(g) for g in tf.gradients(model.total_loss * UNROLL_SCALE, trained)]
        clipped, norm = tf.clip_by_global_norm(gradients, CLIP)
        optimizer = tf.train.AdagradOptimizer(LEARNING_RATE, initial_accumulator_value=1.0)
        step = optimizer.apply_gradients(list(zip(clipped, trained)))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for variable, value in zip(trained, weights.values()):
                variable.load(value, session)
            drawn = [[s.sampled_candidates, s.sampled_expected_count] for s in samples]
            losses, total, norm, gradients, final, drawn, _ = session.run(
                [model.individual_losses, model.total_loss, norm, gradients, model.final_lstm_state, drawn, step],
                feed_text,
            )
            after = session.run(variables)
        result[f"{kind}/losses"], result[f"{kind}/total"], result[f"{kind}/norm"] = np.array(losses), total, norm
        for name, gradient in zip(weights, gradients):
            result[f"{kind}/gradient/{name}"] = gradient / UNROLL_SCALE
            result[f"{kind}/after/{name}"] = after[name]
        if kind == "sampled":
            result["negatives"] = np.stack([words for words, _ in drawn])
            result["draws"] = np.array([draws(*one) for one in drawn])
    for direction, layers in enumerate(final):
        for layer, (cell, hidden) in enumerate(layers):
            result[f"final/cell/{direction}/{layer}"], result[f"final/hidden/{direction}/{layer}"] = cell, hidden
    np.savez_compressed(target, **result)


def feeds(model, vocabulary):
    """Each row is one sentence, as bilm-tf's data code makes it."""
    forward = [vocabulary.encode_chars(sentence, split=False)[:-1] for sentence in TEXT]
    backward = [vocabulary.encode_chars(sentence[::-1], split=False) for sentence in TEXT]
    # read reversed, a sentence begins with its end
    backward = [np.vstack([chars[-1:], chars[1:-1]]) for chars in backward]
    ids = [[vocabulary.word_to_id(word) for word in sentence] for sentence in TEXT]
    return {
        model.tokens_characters: np.stack(forward),
        model.tokens_characters_reverse: np.stack(backward),
        model.next_token_id: np.array([[*words, vocabulary.eos] for words in ids]),
        model.next_token_id_reverse: np.array([[*words[::-1], vocabulary.bos] for words in ids]),
    }


def draws(words, expected):
    """How often TensorFlow drew until it had enough distinct words; it only tells the expected counts."""
    probability = np.log1p(1.0 / (words + 1.0)) / np.log(len(WORDS) + 1.0)
    if np.allclose(expected, NEGATIVES * probability, rtol=1e-4):
        return NEGATIVES
    counts = np.log1p(-expected.astype("float64")) / np.log1p(-probability)
    assert np.abs(counts - np.round(counts)).max() < 0.01, counts
    (count,) = set(np.round(counts).astype(int).tolist())
    return count


if __name__ == "__main__":
    main(sys.argv[1])
