// Fine-tuning of a biLM on the text of a task or a domain (Peters et al., 2018, section 3.4 and supplement A.1): one
// epoch, the old vocabulary; the tuned biLM is then used frozen. A function of the text and the schedule. The paper
// says nothing about the learning rate, the dropout or the batches: these are ours.
// Data: one variable, BILM, what to start from: a name, a weight file, or the archive of a training.
function(
  dataset_reader,
  train_data_path,
  validation_data_path,
  rows=32,
  unroll_steps=20,
  negatives=4096,
  dropout=0.1,
  lr=0.0005,
  epochs=1,
  model={},  // more parameters of the model
  trainer={},  // and of the trainer
  vocabulary={},
  seed=1
) {
  local bilm = std.extVar("BILM"),
  dataset_reader: dataset_reader,
  train_data_path: train_data_path,
  validation_data_path: validation_data_path,
  vocabulary: { type: "elmo_corpus", weights: bilm } + vocabulary,
  model: { type: "elmo_language_model", weights: bilm, n_negative_samples: negatives, dropout: dropout } + model,
  data_loader: { type: "elmo_corpus", batch_size: rows, unroll_steps: unroll_steps, seed: seed },
  validation_data_loader: { type: "elmo_corpus", batch_size: rows, unroll_steps: unroll_steps, shuffle: false },
  trainer: {
    num_epochs: epochs,
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
  random_seed: seed,
  numpy_seed: seed,
  pytorch_seed: seed,
}
