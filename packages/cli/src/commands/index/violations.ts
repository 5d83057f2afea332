import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { listViolations } from '../../indexes/list-violations.ts'

const DETAILS = `If entities share a key of a unique index, its claims become ready only after
these entities are changed or deleted and \`looseleaf clean\` has run again. This
command reads every entity and changes nothing. The exit code is 1 when entities
share a key, or when a key is not claimed yet.

JSON: { "violations": [{ "entity", "holder" }], "unclaimed" }
Both entities have the key; the holder has claimed it.`

export const addViolations: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'violations <name>',
    summary: 'List the entities that share a key of a unique index',
    details: DETAILS,
    examples: [['index violations users_by_mail', 'the entities that need another key']],
  }).does((invocation, name: string) => listViolations(invocation, name))
}
