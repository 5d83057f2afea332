import { defineCommand, type AddCommand } from '../../define-command.ts'
import type { CommonOptions } from '../../session.ts'
import { listViolations } from '../../list-violations.ts'

const DETAILS = `When a unique index is added over entities that share keys, its claims become
ready once these entities are changed or deleted and \`looseleaf clean\` has run
again. Reads every entity and changes nothing. The exit code is 1 when entities
share a key, or when a key is not claimed yet.

JSON: { "violations": [{ "entity", "holder" }], "unclaimed" }
Both entities have the key; the holder has claimed it.`

/** `looseleaf index violations`. */
export const addViolations: AddCommand = (group, run) => {
  defineCommand(group, {
    usage: 'violations <name>',
    summary: 'List the entities that share a key of a unique index',
    details: DETAILS,
    examples: [['index violations users_by_mail', 'who has to get another key']],
  }).action((name: string, options: CommonOptions) =>
    run(options, (session) => listViolations(session, name)),
  )
}
