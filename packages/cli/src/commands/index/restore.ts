import { LooseleafError } from '@looseleaf/core'
import { isInUse } from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import {
  addGenerationOption,
  generationsOfEach,
  generationsText,
  numbersOf,
  type GenerationOption,
} from '../../indexes/index-generations.ts'

const DETAILS = `Writes have kept a hidden index up to date. If it was hidden during its filling,
the filling continues.

JSON:
  { "indexes": [{ "name", "restored": [number],
      "state": state of the newest generation }] }`

export const addRestoreIndex: AddCommand = (group) => {
  const command = defineCommand(group, {
    usage: 'restore <names...>',
    summary: 'Bring back hidden indexes, at once and without filling them',
    details: DETAILS,
    examples: [
      ['index restore entries_by_link', 'all generations that are hidden'],
      ['index restore entries_by_link entries_by_tag', 'two indexes'],
      ['index restore entries_by_link --generation 1', 'the old generation, which a process still queries'],
    ],
  })
  addGenerationOption(command).does(async (invocation, names: string[], options: GenerationOption) => {
    const { output, signal } = invocation
    const store = await invocation.openStore()
    const found = await generationsOfEach(invocation, names, options.generation)
    // Each name is checked before the first index is restored.
    const plans = found.map(({ name, chosen }) => {
      const inUse = chosen.filter(({ rows }) => isInUse(rows))
      const newest = inUse.at(-1)
      if (newest === undefined) {
        throw new LooseleafError(
          'INDEX_NOT_FOUND',
          `Index ${name} is being dropped, which cannot be undone. Add it again with: looseleaf index add ${name} --fill`,
        )
      }
      return { name, hidden: inUse.filter(({ rows }) => rows.hidden), state: newest.rows.state }
    })
    for (const { rows } of plans.flatMap(({ hidden }) => hidden)) await store.restoreIndex(rows, { signal })
    const indexes = plans.map(({ name, hidden, state }) => ({ name, restored: numbersOf(hidden), state }))
    output.result({ indexes }, () =>
      plans
        .map(({ name, hidden, state }) =>
          hidden.length === 0
            ? `Index ${name} is not hidden.`
            : `Index ${name}, ${generationsText(hidden)}, is restored: ${state}.`,
        )
        .join('\n'),
    )
  })
}
