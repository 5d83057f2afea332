import { defineCommand, type AddCommand } from '../../define-command.ts'
import type { CommonOptions } from '../../session.ts'
import { listViolations } from '../../list-violations.ts'

/** `looseleaf index violations`. */
export const addViolations: AddCommand = (group, run) => {
  defineCommand(group, {
    usage: 'violations <name>',
    summary: 'List the entities that share a key of a unique index',
    details:
      'The claims of a unique index that is added over entities which share keys become ready when these have been changed or deleted, and `looseleaf clean` has run again. Reads every entity and changes nothing. The exit code is 1 when there are some, or when keys are claimed by nobody yet.\n\nJSON: { "violations": [{ "entity", "holder" }], "unclaimed" }: both have one key, and the holder has claimed it',
    examples: [['index violations users_by_mail', 'who has to get another key']],
  }).action((name: string, options: CommonOptions) =>
    run(options, (session) => listViolations(session, name)),
  )
}
