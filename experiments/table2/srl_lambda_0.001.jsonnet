// Peters et al. (2018), table 2, SRL, all layers, lambda 0.001: development F1 84.8.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input", lambda=0.001)
