import { LooseleafError } from '@looseleaf/core'
import { isInUse } from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import {
  addGenerationOption,
  generationsNamed,
  generationsText,
  numbersOf,
} from '../../indexes/index-generations.ts'
import type { CommonOptions } from '../../running/session.ts'

const DETAILS = `Writes have kept a hidden index up to date. If it was hidden during its filling,
the filling continues.

JSON: { "restored": [number], "state": state of the newest generation }`

/** Adds `looseleaf index restore`, which restores an index that `drop` or `swap` has hidden. */
export const addRestoreIndex: AddCommand = (group, run) => {
  const command = defineCommand(group, {
    usage: 'restore <name>',
    summary: 'Bring back a hidden index, at once and without filling it',
    details: DETAILS,
    examples: [
      ['index restore entries_by_link', 'all generations that are hidden'],
      ['index restore entries_by_link --generation 1', 'the old generation, which a process still queries'],
    ],
  })
  addGenerationOption(command).action(
    (name: string, options: CommonOptions & { readonly generation?: number }) =>
      run(options, async (session) => {
        const { output, signal } = session
        const store = await session.store()
        const { chosen } = await generationsNamed(store, name, options.generation, { signal })
        const inUse = chosen.filter(({ rows }) => isInUse(rows))
        const newest = inUse.at(-1)
        if (newest === undefined) {
          throw new LooseleafError(
            'INDEX_NOT_FOUND',
            `Index ${name} is being dropped, which cannot be undone. Add it again with: looseleaf index add ${name} --fill`,
          )
        }
        const hidden = inUse.filter(({ rows }) => rows.hidden)
        for (const { rows } of hidden) await store.restoreIndex(rows, { signal })
        output.result({ restored: numbersOf(hidden), state: newest.rows.state }, () =>
          hidden.length === 0
            ? `Index ${name} is not hidden.`
            : `Index ${name}, ${generationsText(hidden)}, is restored: ${newest.rows.state}.`,
        )
      }),
  )
}
