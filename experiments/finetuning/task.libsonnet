// Fine-tuning on the text of a task: on its training part for one epoch, scored on its development part. A function of
// the task's configuration, whose readers and paths are used, and of what to read of it.
function(task, fields=null)
  (import "bilm.libsonnet")(
    dataset_reader={
      type: "elmo_corpus",
      task_reader: task.validation_dataset_reader,
      distinct: true,  // an instance for each predicate, question or pair says the same text again
      [if fields != null then "fields"]: fields,
    },
    train_data_path=task.train_data_path,
    validation_data_path=task.validation_data_path,
  )
