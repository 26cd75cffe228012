// Peters et al. (2018), table 1, coreference, baseline: test average F1 67.2.
// Differences: those of tasks/coref.libsonnet.
(import "../tasks/coref.libsonnet")()
