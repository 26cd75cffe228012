// Peters et al. (2018), table 2, SRL, all layers, lambda 1: development F1 84.6.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input", lambda=1)
