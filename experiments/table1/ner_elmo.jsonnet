// Peters et al. (2018), table 1, NER, ELMo: test F1 92.22 ± 0.10.
// Differences: those of tasks/ner.libsonnet.
(import "../tasks/ner.libsonnet")(where="input")
