// Fine-tuning of a biLM on the text of a task or a domain (Peters et al., 2018, section 3.4 and supplement A.1): one
// epoch, the old vocabulary; the tuned biLM is then used frozen. A function of the text and of a few settings.
// How the paper tunes is not known. Dropout and unroll steps are bilm-tf's. The rest is ours, with bilm-tf's in
// brackets: Adam (Adagrad), its learning rate and schedule (0.2, constant), the gradients' norm clipped at 1.0 (10.0),
// no factor of the unroll steps on the loss (20), 4,096 negatives (8,192), 32 rows (128 on each GPU).
// Data: one variable, BILM, what to start from: a name, a weight file, or the archive of a training.
local trainers = import "../lib/trainers.libsonnet";
function(
  dataset_reader,
  train_data_path,
  validation_data_path,
  rows=32,
  dropout=0.1,
  lr=0.0005,
  model={},  // more parameters of the model
  trainer={},  // and of the trainer
  vocabulary={}
) {
  local bilm = std.extVar("BILM"),
  local loader = { type: "elmo_corpus", batch_size: rows, unroll_steps: 20 },
  dataset_reader: dataset_reader,
  train_data_path: train_data_path,
  validation_data_path: validation_data_path,
  vocabulary: { type: "elmo_corpus", weights: bilm } + vocabulary,
  model: { type: "elmo_language_model", weights: bilm, n_negative_samples: 4096, dropout: dropout } + model,
  data_loader: loader { seed: 1 },
  validation_data_loader: loader { shuffle: false },
  trainer: {
    num_epochs: 1,
    optimizer: { type: "adam", lr: lr },
    learning_rate_scheduler: { type: "linear_with_warmup", warmup_steps: 20 },
    grad_norm: 1.0,
    validation_metric: "-perplexity",
    checkpointer: { type: "elmo", save_every_num_seconds: 600 },
    callbacks: [
      { type: "elmo_fast_forward" },
      { type: "elmo_progress" },
      { type: "elmo_export" },
      { type: "elmo_resume" },
    ],
    run_confidence_checks: false,  // it would run the model on batches of training text and move its state
  } + trainer,
} + trainers.seeds(1)
