import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import type { CommonOptions } from '../../running/invocation.ts'
import { listViolations } from '../../indexes/list-violations.ts'

const DETAILS = `If entities share a key of a unique index, its claims become ready only after
these entities are changed or deleted and \`looseleaf clean\` has run again. This
command reads every entity and changes nothing. The exit code is 1 when entities
share a key, or when a key is not claimed yet.

JSON: { "violations": [{ "entity", "holder" }], "unclaimed" }
Both entities have the key; the holder has claimed it.`

/** Adds `looseleaf index violations`. */
export const addViolations: AddCommand = (group, run) => {
  defineCommand(group, {
    usage: 'violations <name>',
    summary: 'List the entities that share a key of a unique index',
    details: DETAILS,
    examples: [['index violations users_by_mail', 'the entities that need another key']],
  }).action((name: string, options: CommonOptions) =>
    run(options, (invocation) => listViolations(invocation, name)),
  )
}
