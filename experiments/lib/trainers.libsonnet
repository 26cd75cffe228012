// Trainers, and the seeds of a run.
{
  adam(lr, epochs, patience=null, grad_norm=5.0):: {
    optimizer: { type: "adam", lr: lr },
    num_epochs: epochs,
    [if patience != null then "patience"]: patience,
    grad_norm: grad_norm,
  },
  // As Clark and Gardner (2017) and He et al. (2017) use it.
  adadelta(epochs, patience=null, eps=1e-6):: {
    optimizer: { type: "adadelta", lr: 1.0, rho: 0.95, eps: eps },
    num_epochs: epochs,
    [if patience != null then "patience"]: patience,
  },
  // Validate and keep a moving average of the weights, which swings less from epoch to epoch and from seed to seed.
  averaged(decay, warmup={}):: { moving_average: { type: "exponential", decay: decay } + warmup },
  // Halve the learning rate behind every epoch that brings no gain in `validation_metric`, which is to be large.
  halved:: {
    learning_rate_scheduler: { type: "reduce_on_plateau", factor: 0.5, mode: "max", patience: 0 },
  },
  // Merged into a whole configuration, as all below.
  seeds(seed):: { random_seed: seed, numpy_seed: seed, pytorch_seed: seed },
  // On a part of the data an epoch is so many batches, not a pass: a training on few instances takes as many steps
  // between two validations as one on many. null: a pass.
  part(fraction, batches):: if fraction == 1 || batches == null then {} else {
    data_loader+: { batches_per_epoch: batches },
  },
  // The loaders: sentences of like length together.
  buckets(batch_size, keys, evaluation=1):: {
    local loader(size) = { batch_sampler: { type: "bucket", batch_size: size, sorting_keys: keys } },
    data_loader: loader(batch_size),
    validation_data_loader: loader(evaluation * batch_size),
  },
}
