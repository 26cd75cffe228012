// Trainers, and the seeds of a run.
{
  adam(lr, epochs, patience=null, grad_norm=5.0):: {
    optimizer: { type: "adam", lr: lr },
    num_epochs: epochs,
    [if patience != null then "patience"]: patience,
    grad_norm: grad_norm,
  },
  // Merged into a whole configuration.
  seeds(seed):: { random_seed: seed, numpy_seed: seed, pytorch_seed: seed },
}
