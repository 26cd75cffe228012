// Peters et al. (2018), table 2, SNLI, all layers, lambda 0.001: development accuracy 89.5.
// Differences: those of tasks/snli.libsonnet.
(import "../tasks/snli.libsonnet")(where="both", lambda=0.001)
