// Peters et al. (2018), table 1, SRL, ELMo: test F1 84.6.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input")
