// Peters et al. (2018), figure 1, SRL, ELMo, 10 % of the training data: no number is printed there.
// Differences: those of tasks/srl.libsonnet.
(import "../tasks/srl.libsonnet")(where="input", fraction=0.1)
