// Peters et al. (2018), table 1, coreference, ELMo: test average F1 70.4.
// Differences: those of tasks/coref.libsonnet.
(import "../tasks/coref.libsonnet")(where="input")
