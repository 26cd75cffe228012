// Peters et al. (2018), table 2, SRL, last layer alone: development F1 84.1.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input", layers="last")
