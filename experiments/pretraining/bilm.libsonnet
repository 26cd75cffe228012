// A biLM trained on text as bilm-tf does (Peters et al., 2018): a function of its sizes and its schedule.
// Data: one variable, LM_DATA, a folder with train-*.txt.gz and heldout.txt.gz (one tokenised sentence a line).
local trainers = import "../lib/trainers.libsonnet";
function(
  options,  // the biLM, in the layout of options.json; without char_cnn it reads words
  vocabulary_size,
  epochs,  // of the trainer: each ends with a perplexity on held-out text
  batches_per_epoch=null,  // null: an epoch is one pass over the text
  rows=128,
  unroll_steps=20,
  negatives=8192,
  dropout=0.1,
  optimizer={ type: "adagrad", lr: 0.2, initial_accumulator_value: 1.0 },
  learning_rate_scheduler=null,
  loss_scale=unroll_steps,  // bilm-tf differentiates loss * unroll_steps
  grad_norm=10.0,
  heldout_sentences=2000,
  // with several processes: { type: "elmo", save_every_num_batches: 500 }
  checkpointer={ type: "elmo", save_every_num_seconds: 600 },
  seed=1
) {
  local data = std.extVar("LM_DATA"),
  local reader = if std.objectHas(options, "char_cnn")
  then { max_characters_per_token: options.char_cnn.max_characters_per_token }
  else { word_level: true },
  dataset_reader: { type: "elmo_corpus" } + reader,
  validation_dataset_reader: self.dataset_reader { max_sentences: heldout_sentences },
  train_data_path: data + "/train-*.txt.gz",
  validation_data_path: data + "/heldout.txt.gz",
  vocabulary: { type: "elmo_corpus", corpus: data + "/train-*.txt.gz", max_size: vocabulary_size },
  model: {
    type: "elmo_language_model",
    options: options,
    n_negative_samples: negatives,
    dropout: dropout,
    loss_scale: loss_scale,
  },
  data_loader: {
    type: "elmo_corpus",
    batch_size: rows,
    unroll_steps: unroll_steps,
    seed: seed,
    [if batches_per_epoch != null then "batches_per_epoch"]: batches_per_epoch,
  },
  validation_data_loader: { type: "elmo_corpus", batch_size: rows, unroll_steps: unroll_steps, shuffle: false },
  trainer: {
    num_epochs: epochs,
    optimizer: optimizer,
    [if learning_rate_scheduler != null then "learning_rate_scheduler"]: learning_rate_scheduler,
    grad_norm: grad_norm,
    validation_metric: "-perplexity",
    checkpointer: checkpointer,
    callbacks: [
      { type: "elmo_fast_forward" },
      { type: "elmo_progress" },
      { type: "elmo_export" },
      { type: "elmo_resume" },
    ],
    run_confidence_checks: false,  // it would run the model on batches of training text and move its state
  },
} + trainers.seeds(seed)
