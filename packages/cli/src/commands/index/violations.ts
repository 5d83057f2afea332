import { checkIndex } from '@looseleaf/cleaner'
import { badOption, counted } from '@looseleaf/core/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { exitCodes, type ExitCode } from '../../running/exit-codes.ts'
import type { Invocation } from '../../running/invocation.ts'

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
  }).does(listViolations)
}

async function listViolations(invocation: Invocation, name: string): Promise<ExitCode> {
  const { output, signal } = invocation
  const store = await invocation.openStore()
  const entries = (await store.indexes({ signal })).filter((index) => index.name === name)
  if (entries.length > 0 && !entries.some(({ unique }) => unique)) {
    throw badOption(`Index ${name} is not unique: entities may share its keys.`)
  }
  const violations: { readonly entity: string; readonly holder: string }[] = []
  const { unclaimed } = await checkIndex(store, name, {
    signal,
    onProblem({ kind, entity, holder }) {
      if (kind === 'duplicate' && holder !== undefined) violations.push({ entity, holder })
    },
  })
  const rows = violations.map(({ entity, holder }) => [entity, holder])
  output.result({ violations, unclaimed }, () =>
    rows.length === 0
      ? 'No entity has a key that another entity has claimed.'
      : output.table(['ENTITY', 'HAS A KEY OF'], rows),
  )
  const clean = `looseleaf clean --index ${name}`
  if (rows.length > 0) {
    const have = counted(rows.length, 'entity has', 'entities have')
    output.note(
      `${have} a key that another entity has claimed. Change or delete one entity of each pair, then run: ${clean}`,
    )
  } else if (unclaimed > 0) {
    output.note(`${counted(unclaimed, 'key is', 'keys are')} not claimed yet. Run: ${clean}`)
  }
  return violations.length + unclaimed === 0 ? exitCodes.ok : exitCodes.found
}
