// Table 7 of the supplement, SQuAD questions: perplexity 158.2 before and 52.0 after in the paper.
// The small scale's are those of new_wiki.
local data = import "../lib/data.libsonnet";
local task = (import "../tasks/squad.libsonnet")() { train_data_path: data.tasks[std.extVar("SCALE")].squad.train };
(import "task.libsonnet")(task, fields=["question"])
