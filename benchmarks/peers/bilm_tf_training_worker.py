"""
bilm-tf's training steps behind a pipe. Runs in an environment of its own: see benchmarks/README.md.

    PYTHON bilm_tf_training_worker.py OPTIONS.json BATCHES.npz THREADS

The options are those of bilm-tf's training, the batches hold its four inputs, `(batches, rows, steps, ...)`. Says
"ready"; for each line of its input it then trains on the batch of that number and answers with seconds and loss.
"""

import json
import os
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
warnings.filterwarnings("ignore")


def main(options_file, batches_file, threads):
    # The libraries print to the standard output; it is kept for the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import numpy
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    from bilm import training

    with open(options_file) as file:
        options = json.load(file)
    batches = dict(numpy.load(batches_file))
    with tf.device("/cpu:0"):
        optimizer = tf.train.AdagradOptimizer(0.2, initial_accumulator_value=1.0)
        with tf.variable_scope("lm"):
            model = training.LanguageModel(options, True)
        gradients = optimizer.compute_gradients(model.total_loss * options["unroll_steps"])
        gradients = training.average_gradients([gradients], options["batch_size"], options)
        gradients, _ = training.clip_grads(gradients, options, False, None)
        step = optimizer.apply_gradients(gradients)
    inputs = [
        (model.tokens_characters, batches["tokens"]),
        (model.tokens_characters_reverse, batches["tokens_reverse"]),
        (model.next_token_id, batches["next"]),
        (model.next_token_id_reverse, batches["next_reverse"]),
    ]
    first = [part for layers in model.init_lstm_state for pair in layers for part in pair]
    last = [part for layers in model.final_lstm_state for pair in layers for part in pair]
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        state = [numpy.zeros(part.shape.as_list(), "float32") for part in first]
        answers.write("ready\n")
        answers.flush()
        for line in sys.stdin:
            feed = {placeholder: values[int(line)] for placeholder, values in inputs}
            feed.update(zip(first, state))
            begun = time.perf_counter()
            _, loss, state = session.run([step, model.total_loss, last], feed)
            answers.write(json.dumps([time.perf_counter() - begun, float(loss)]) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
