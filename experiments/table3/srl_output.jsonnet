// Peters et al. (2018), table 3, SRL, ELMo at the output: development F1 80.9.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="output")
