"""
The original TensorFlow biLM behind a pipe. Runs in an environment of its own: see benchmarks/README.md.

Reads one JSON object a line and answers with one: {"ok": ...} or {"error": text}.

    {"do": "load", "options": FILE, "weights": FILE, "threads": N, "max_batch": N}
    {"do": "prepare", "key": TEXT, "ids": FILE.npy}      (batch, tokens, characters) with sentence boundaries
    {"do": "layers", "key": TEXT, "target": FILE.npy}    writes (layers, batch, words, dim)
    {"do": "vectors", "key": TEXT, "target": FILE.npy}   writes their mean
    {"do": "time", "key": TEXT}                          seconds for the mean of the layers, from the zero state
"""

import json
import os
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.filterwarnings("ignore")


class Worker:
    def __init__(self):
        self.batches = {}

    def load(self, options, weights, threads, max_batch):
        import tensorflow as tf

        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
        from bilm import BidirectionalLanguageModel

        with open(options) as file:
            characters = json.load(file)["char_cnn"]["max_characters_per_token"]
        self.ids = tf.compat.v1.placeholder("int32", shape=(None, None, characters))
        bilm = BidirectionalLanguageModel(options, weights, max_batch_size=max_batch)
        self.layers_op = bilm(self.ids)["lm_embeddings"]
        self.vectors_op = tf.reduce_mean(self.layers_op, axis=1)
        states = bilm._graphs[self.ids].lstm_init_states
        flat = [state for direction in states.values() for pair in direction for state in pair]
        self.reset_op = tf.compat.v1.variables_initializer(flat)
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads, allow_soft_placement=True
        )
        self.session = tf.compat.v1.Session(config=config)
        self.session.run(tf.compat.v1.global_variables_initializer())
        return tf.__version__

    def prepare(self, key, ids):
        import numpy

        self.batches[key] = numpy.load(ids)

    def layers(self, key, target):
        self._save(target, self._run(self.layers_op, key).transpose(1, 0, 2, 3))

    def vectors(self, key, target):
        self._save(target, self._run(self.vectors_op, key))

    def time(self, key):
        self.session.run(self.reset_op)
        begun = time.perf_counter()
        self.session.run(self.vectors_op, {self.ids: self.batches[key]})
        return time.perf_counter() - begun

    def _run(self, op, key):
        self.session.run(self.reset_op)
        return self.session.run(op, {self.ids: self.batches[key]})

    def _save(self, target, array):
        import numpy

        numpy.save(target, array)


def main():
    # The libraries print to the standard output; it is kept for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(worker, request.pop("do"))(**request)}
        except Exception as error:  # whatever it is, the other side must hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
